import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'

type Injected = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'payload'>

/** An answer, wherever it came from: `inject`, `fetch` or a raw socket. */
export interface AnyAnswer {
  readonly status: number
  readonly headers: Headers | Readonly<Record<string, unknown>>
  readonly body: string
}

/** What a problem document is expected to say, beside what all of them say. */
export interface ExpectedProblem {
  readonly status: number
  readonly code: string
  readonly title?: string
  readonly detail?: string | RegExp
  readonly errors?: readonly unknown[]
  readonly typeBase?: string
}

/** What `inject` gave, as an answer. */
export function injected({ statusCode, headers, payload }: Injected): AnyAnswer {
  return { status: statusCode, headers, body: payload }
}

/** What `fetch` gave, as an answer. */
export async function fetched(response: Response): Promise<AnyAnswer> {
  return { status: response.status, headers: response.headers, body: await response.text() }
}

/** Checks that a response is a problem document (RFC 9457). Returns the document. */
export function isProblem(t: Test, answer: AnyAnswer, expected: ExpectedProblem, about?: string) {
  const name = about ?? `${expected.status} ${expected.code}`
  const document = parsed(answer.body)
  const { typeBase = 'urn:problem-type:fastify-conventions:' } = expected
  t.equal(answer.status, expected.status, `${name}: the status`)
  t.equal(headerOf(answer, 'content-type'), 'application/problem+json', `${name}: the media type`)
  t.equal(document.status, expected.status, `${name}: the document repeats the status`)
  t.equal(document.code, expected.code, `${name}: the code`)
  t.equal(document.type, typeBase + expected.code, `${name}: the type is typeBase and code`)
  if (expected.title === undefined) t.type(document.title, 'string', `${name}: a title`)
  else t.equal(document.title, expected.title, `${name}: the title`)
  if (typeof expected.detail === 'string') t.equal(document.detail, expected.detail, `${name}: the detail`)
  else t.match(document.detail, expected.detail ?? /./, `${name}: a detail`)
  if (expected.errors !== undefined) t.strictSame(document.errors, expected.errors, `${name}: the errors`)
  t.notOk('statusCode' in document, `${name}: nothing is left of the framework’s own body`)
  return document
}

/** A header of an answer, as one string. */
export function headerOf({ headers }: AnyAnswer, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = headers[name]
  return value === undefined ? undefined : String(value)
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body)
  } catch {
    return { unparsable: body }
  }
}
