import { isObject } from '../../options.js'
import type { Exchange } from './client.js'

/** The groups of clauses that are probed; most have the name of the plugin that keeps them. */
export const probeRules = [
  'problems',
  'pathGuard',
  'methods',
  'caching',
  'head',
  'fields',
  'integerTwins',
  'lists',
  'responseRules',
  'securityHeaders',
  'maintenance',
  'bodies',
] as const

/** A group of clauses that is probed. */
export type ProbeRule = (typeof probeRules)[number]

/** A clause, and whether a route keeps it. */
export interface Verdict {
  readonly rule: ProbeRule
  /** The path pattern of the route; `*` for paths without a route. */
  readonly url: string
  /** The request that shows it: method and target, and header fields. */
  readonly request: string
  readonly expected: string
  /** What the app has answered; `null` if the clause is kept. */
  readonly received: string | null
}

export class Verdicts {
  readonly #url: string
  readonly #all: Verdict[]

  constructor(url: string, all: Verdict[]) {
    this.#url = url
    this.#all = all
  }

  /** Adds a verdict. `received` is `null` if the clause is kept. */
  add(
    rule: ProbeRule,
    { request }: Pick<Exchange, 'request'>,
    expected: string,
    received: string | null,
  ): void {
    this.#all.push({ rule, url: this.#url, request, expected, received })
  }

  addStatus(rule: ProbeRule, exchange: Exchange, statuses: readonly number[]): boolean {
    const { status, header } = exchange
    const isExpected = statuses.includes(status)
    const location = header('location') === undefined ? '' : `, location: ${header('location')}`
    this.add(
      rule,
      exchange,
      `status ${statuses.join(' or ')}`,
      isExpected ? null : `status ${status}${location}`,
    )
    if (status >= 400) this.add('problems', exchange, 'a problem document', problemFault(exchange))
    return isExpected
  }
}

/** Returns what an error lacks to be a problem document (RFC 9457) that caches do not store; `null` if it lacks nothing. */
function problemFault({ request, status, mediaType, json, body, header }: Exchange): string | null {
  if (/\n +at |"stack"|node_modules/.test(body)) return 'a stack trace'
  if (!/\bno-store\b/.test(header('cache-control') ?? '')) return `cache-control: ${header('cache-control')}`
  if (request.startsWith('HEAD ')) return body === '' ? null : 'a body'
  if (mediaType !== 'application/problem+json') return `content-type: ${mediaType}`
  if (!isObject(json)) return 'content that is not a JSON object'
  const missing = ['type', 'title', 'detail', 'code'].find((name) => typeof json[name] !== 'string')
  if (missing !== undefined) return `no member ${missing}`
  return json.status === status ? null : `status ${status} with the member status ${json.status}`
}
