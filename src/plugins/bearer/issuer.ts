import { isObject } from '../../options.js'
import { Outage } from '../../time/schedule.js'
import { isSecure, type ResolvedBearer } from './options.js'
import { IssuerUnavailable, TokenRefused } from './tokens.js'

/** Milliseconds between two requests for keys, and after a failure. */
export const cooldown = 5_000

const timeout = 5_000
const maxBytes = 262_144

/** Milliseconds between the begins of two outages that are logged. */
const outageInterval = 60_000

/** Statuses of 4xx that are about this service, as a client of the issuer: its credentials, its speed, its requests so far. */
const aboutService: ReadonlySet<number> = new Set([401, 407, 408, 429])

interface Log {
  info(message: string): void
  error(values: object, message: string): void
}

/** The authorization server that issues the tokens. */
export interface Issuer {
  /** Whether a request has failed a moment ago. Until that has passed, the issuer is not asked. */
  isAway(): boolean
  /** Fetches the keys. */
  ask<Answer>(endpoint: 'jwks_uri', isAnswer: IsAnswer<Answer>): Promise<Answer>
  /** Asks about a token. The issuer may refuse the question, and answers others: that is no outage. */
  ask<Answer>(
    endpoint: 'introspection_endpoint',
    isAnswer: IsAnswer<Answer>,
    question: RequestInit,
  ): Promise<Answer>
}

type IsAnswer<Answer> = (value: unknown) => value is Answer

export function issuerOf({ issuer, allowHttp, jwksUri, fetch, now }: ResolvedBearer, log: Log): Issuer {
  const outage = new Outage(outageInterval, now)
  let metadata: unknown
  let failedAt = Number.NEGATIVE_INFINITY

  const isAway = () => now() - failedAt < cooldown

  async function ask<Answer>(
    endpoint: 'jwks_uri' | 'introspection_endpoint',
    isAnswer: IsAnswer<Answer>,
    question?: RequestInit,
  ): Promise<Answer> {
    if (isAway()) throw new IssuerUnavailable('the issuer was not reached a moment ago')
    let status = 0
    try {
      const url = endpoint === 'jwks_uri' && jwksUri !== undefined ? jwksUri : await endpointOf(endpoint)
      const response = await fetchText(url, question)
      status = response.status
      const answer = jsonOf(url, response)
      if (!isAnswer(answer)) throw new IssuerUnavailable(`the response of ${url} is not what was asked for`)
      failedAt = Number.NEGATIVE_INFINITY
      if (outage.ends()) log.info('bearer: the issuer answers again')
      return answer
    } catch (error) {
      const isOfQuestion = question !== undefined && isRefusal(status)
      // An endpoint that refuses one request is still there.
      if (!isOfQuestion || status === 404) metadata = undefined
      if (isOfQuestion && !aboutService.has(status)) throw new TokenRefused((error as Error).message)
      if (!isOfQuestion) failedAt = now()
      if (outage.begins()) log.error({ err: error }, 'bearer: the issuer cannot be used')
      throw error
    }
  }

  async function endpointOf(name: string): Promise<string> {
    metadata ??= await discover()
    // RFC 8414 §3.3
    if (!isObject(metadata) || metadata.issuer !== issuer)
      throw new IssuerUnavailable(`the metadata of ${issuer} is of another issuer`)
    const endpoint = metadata[name]
    if (typeof endpoint === 'string' && isSecure(endpoint, allowHttp)) return endpoint
    throw new IssuerUnavailable(
      `the metadata of ${issuer} has no ${name} that may be used: https is required`,
    )
  }

  async function discover(): Promise<unknown> {
    const { origin, pathname, search } = new URL(issuer)
    const path = pathname.replace(/\/$/, '')
    const urls = [
      // RFC 8414 §3.1: between the host and the path.
      `${origin}/.well-known/oauth-authorization-server${path}${search}`,
      // OpenID Connect Discovery 1.0 §4.1: after the path.
      `${origin}${path}/.well-known/openid-configuration${search}`,
    ]
    for (const url of urls) {
      const response = await fetchText(url)
      if (!isRefusal(response.status)) return jsonOf(url, response)
    }
    throw new IssuerUnavailable(`${issuer} has no metadata: ${urls.join(', ')}`)
  }

  async function fetchText(url: string, question?: RequestInit): Promise<FetchedText> {
    try {
      const signal = AbortSignal.timeout(timeout)
      const { status, body } = await fetch(url, { ...question, redirect: 'error', signal })
      if (status !== 200 || body === null) {
        await body?.cancel()
        return { status, text: null }
      }
      const chunks: Uint8Array[] = []
      let length = 0
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        length += chunk.byteLength
        if (length > maxBytes) throw new RangeError(`the response has more than ${maxBytes} bytes`)
        chunks.push(chunk)
      }
      return { status, text: Buffer.concat(chunks).toString('utf8') }
    } catch (cause) {
      throw new IssuerUnavailable(`${url} cannot be read`, { cause })
    }
  }

  return { isAway, ask }
}

/** A response of the issuer; `text` is `null` for other statuses than 200. */
interface FetchedText {
  readonly status: number
  readonly text: string | null
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500
}

function jsonOf(url: string, { status, text }: FetchedText): unknown {
  if (text === null) throw new IssuerUnavailable(`${url} answered ${status}`)
  try {
    return JSON.parse(text)
  } catch {
    // The cause would have a part of the response.
    throw new IssuerUnavailable(`${url} did not answer with JSON`)
  }
}
