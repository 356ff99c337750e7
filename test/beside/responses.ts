import type { FastifyInstance, InjectOptions } from 'fastify'

export interface Sent {
  readonly status: number
  /** Name in lowercase and value, in the order of the response, repeated fields included. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

// What differs from response to response: the clock, and random values of plugins.
const unstable: readonly (readonly [RegExp, string])[] = [
  [/\b[\da-f]{32,}\b/g, '<random>'],
  [/((?:retry-after|x?-?ratelimit-reset): )\d+/gi, '$1<seconds>'],
  [/;t=\d+/g, ';t=<seconds>'],
  [/\breqId":"[^"]+/g, 'reqId":"<id>'],
  [/(last-modified: )(?!Thu, 19 Nov).*/gi, '$1<time of the file>'],
]

function stable(text: string): string {
  return unstable.reduce((changed, [pattern, replacement]) => changed.replace(pattern, replacement), text)
}

/** Sends a request, and returns the bytes of the response as text, without the `Date`. */
export async function sentBy(app: FastifyInstance, request: InjectOptions): Promise<Sent> {
  const response = await app.inject(request)
  // light-my-request gives an object of headers, which has no repeated fields.
  const { _header: head } = response.raw.res as unknown as { readonly _header: string }
  const fields = head
    .split('\r\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const [name = '', ...rest] = stable(line).split(': ')
      return [name.toLowerCase(), rest.join(': ')]
    })
    .filter(([name]) => name !== 'date' && name !== 'connection' && name !== 'keep-alive')
  return { status: response.statusCode, fields, body: stable(response.rawPayload.toString('latin1')) }
}
