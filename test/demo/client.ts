import type { Test } from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import type { Database } from '../../examples/demo-server/database.js'
import { migrate } from '../../examples/demo-server/migrations.js'
import { nextLink } from '../support/links.js'
import { serve as listen } from '../support/serve.js'
import { until } from '../support/until.js'
import { type Judge, judgeOf } from './document-judge.js'
import { adminToken, issuer, userToken } from './issuer.js'

export type Json = Record<string, unknown>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body parsed, large integers as BigInts; `{}` where there is none. */
  readonly json: Json
}

export interface Sent {
  /** Sent as JSON, BigInts with all their digits, unless it is a string: that goes as it is. */
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** Talks to a service over real sockets. An integer that is answered without a true twin is an error. */
export type Caller = ReturnType<typeof callerOf>

export type Client = Awaited<ReturnType<typeof serve>>

/** What a `fetch` sends. */
type Sending = { method: string; redirect: 'manual'; headers: Record<string, string>; body?: string }

interface CallerOptions {
  /** Default: for the records of all users. */
  readonly token?: Promise<string> | null
  readonly send?: (url: string, request: Sending) => Promise<Pick<Response, 'status' | 'headers' | 'text'>>
  /** Compares each answer with the OpenAPI document. */
  readonly judge?: Judge
}

let judgeOfDemo: Judge | undefined

/**
 * Starts the demo on a database, which is migrated first, and stops it when the test ends.
 *
 * @param pace of what takes long; 1 for seconds
 */
export async function serve(t: Test, database: Database, pace = 0.02) {
  await migrate(database)
  const { options: bearer } = await issuer()
  const app = await buildApp({ database, bearer, rateLimitMax: 1_000_000_000, pace })
  const { origin } = await listen(t, app)
  // All these services have the same document, and it takes long to make.
  judgeOfDemo ??= judgeOf(app.swagger())
  const judge = judgeOfDemo
  return {
    app,
    ...callerOf(origin, { judge }),
    /** The same with a token of a user, by default with all scopes that a user may give. */
    as: (user: unknown, scopes?: readonly string[]) =>
      callerOf(origin, { token: userToken(user, scopes), judge }),
    /** The same without a token. */
    anonymous: callerOf(origin, { token: null, judge }),
  }
}

/** Talks to the service at an origin. */
export function callerOf(origin: string, { token = adminToken(), send = fetch, judge }: CallerOptions = {}) {
  async function call(method: string, target: string, { body, headers: sent }: Sent = {}): Promise<Answer> {
    const authorization = token === null ? {} : { authorization: `Bearer ${await token}` }
    const headers = { ...authorization, ...sent }
    const response = await send(origin + target, {
      method,
      // A 303 is an answer like others.
      redirect: 'manual',
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? undefined : { body: typeof body === 'string' ? body : writeExact(body) }),
    })
    const text = await response.text()
    const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '') && text !== ''
    const json = isJson ? (parseExact(text) as Json) : {}
    const fault = faultyTwin(json)
    if (fault !== null) throw new Error(`${method} ${target}: ${fault} is no twin: ${text}`)
    const answer = { status: response.status, headers: response.headers, text, json }
    judge?.(method, target, answer)
    return answer
  }
  return {
    origin,
    call,
    get: (target: string) => call('GET', target),
    post: (target: string, body: unknown) => call('POST', target, { body }),
    put: (target: string, body: unknown) => call('PUT', target, { body }),
    patch: (target: string, body: unknown) => call('PATCH', target, { body }),
    delete: (target: string) => call('DELETE', target),
  }
}

export function itemsOf(answer: Answer, collection: string): Json[] {
  return answer.json[collection] as Json[]
}

/** The entity tag of an answer; throws where it has none. */
export function tagOf({ headers }: Answer): string {
  const tag = headers.get('etag')
  if (tag === null) throw new Error('there is no ETag')
  return tag
}

/** Follows the links from a first page to the end. */
export async function walk(client: Client, first: string): Promise<Answer[]> {
  const pages: Answer[] = []
  for (let target: string | null = first; target !== null; ) {
    const page = await client.get(target)
    pages.push(page)
    target = nextLink(page.headers.get('link'))
  }
  return pages
}

/** Polls the operation that an answer leads to until it is over, and does not follow where it leads. */
export function endOf(client: Caller, start: Answer | undefined): Promise<Answer> {
  const poll = () => client.get(start?.headers.get('location') ?? '')
  return until(poll, ({ json }) => json.status !== 'In progress')
}

// A string, which may hold digits, or a number.
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
const longInteger = /^-?\d{16,}$/
const marker = /^integer:(-?\d+)$/

/** Parses JSON; integers that a Number cannot hold become BigInts with all of their digits. */
export function parseExact(text: string): unknown {
  const marked = text.replace(token, (found) => (longInteger.test(found) ? `"integer:${found}"` : found))
  return JSON.parse(marked, (_name, value: unknown) => {
    const digits = typeof value === 'string' ? marker.exec(value)?.[1] : undefined
    if (digits === undefined) return value
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits)
  })
}

/** Writes JSON; BigInts are written with all of their digits. */
export function writeExact(value: unknown): string {
  const marked = JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? `integer:${member}` : member,
  )
  return marked.replace(/"integer:(-?\d+)"/g, '$1')
}

/**
 * Says where, in something that {@link parseExact} gave, a string twin differs from its integer or a large integer has
 * none; `null` if nowhere.
 */
export function faultyTwin(value: unknown, path = ''): string | null {
  if (typeof value !== 'object' || value === null) return null
  const members = value as Readonly<Record<string, unknown>>
  for (const [name, member] of Object.entries(members)) {
    const twin = members[`${name}_str`]
    const isInteger = typeof member === 'bigint' || (typeof member === 'number' && twin !== undefined)
    if (isInteger && twin !== String(member)) return `${path}/${name}_str`
    const within = faultyTwin(member, `${path}/${name}`)
    if (within !== null) return within
  }
  return null
}
