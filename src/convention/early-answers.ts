import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { appSlot } from './slots.js'

// What `serverOptions()` answers: malformed URLs and over-long parameters, which are errors of the root and no hook sees.

/** Returns the problem for which all requests are refused; `null` for none. */
type EarlyRefusal = (request: FastifyRequest) => ProblemError | null

const earlyRefusal = appSlot<EarlyRefusal>('earlyRefusal')

/** Sets a refusal that takes precedence over all others, also for requests that no hook sees. */
export function refuseWithoutHooks(app: FastifyInstance, refusal: EarlyRefusal): void {
  earlyRefusal.set(app, refusal)
}

/** Returns the problem of the refusal that takes precedence; `null` for none. */
export function earlyRefusalOf(request: FastifyRequest): ProblemError | null {
  return earlyRefusal.get(request.server)?.(request) ?? null
}

/** Sets headers on a reply, then calls `next`; or sends the reply, and does not. */
type SetHeaders = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

const headerSetters = appSlot<SetHeaders[]>('frameworkErrorHeaders')

/** Adds a function that sets headers on replies for which no hook runs. */
export function addFrameworkErrorHeaders(app: FastifyInstance, setHeaders: SetHeaders): void {
  const setters = headerSetters.own(app)
  if (setters === undefined) headerSetters.set(app, [setHeaders])
  else setters.push(setHeaders)
}

/** Runs the functions of {@link addFrameworkErrorHeaders}, then `answer`, also if one of them fails. */
export function setFrameworkErrorHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => void,
): void {
  const setters = headerSetters.get(request.server) ?? []
  let index = 0
  const next = (error?: Error): void => {
    if (error) request.log.error({ err: error }, 'headers of an error failed')
    const setHeaders = setters[index++]
    if (setHeaders === undefined) answer()
    else setHeaders(request, reply, next)
  }
  next()
}

type Fields = Readonly<Record<string, string>>

/** Header fields of a response, with TLS and without. */
interface RawFields {
  readonly secure: Fields
  readonly plain: Fields
}

const rawFields = appSlot<RawFields>('rawFields')

export function declareRawFields(app: FastifyInstance, fields: RawFields): void {
  if (rawFields.own(app) === undefined) rawFields.set(app, fields)
}

export function rawFieldsOf(app: FastifyInstance, socket: Duplex): Fields {
  const fields = rawFields.get(app)
  if (fields === undefined) return {}
  return 'encrypted' in socket ? fields.secure : fields.plain
}

/**
 * Whether a request of HTTP/1.0 has `Transfer-Encoding`. A proxy may have read another length, so the connection has to be
 * closed (RFC 9112 §6.1).
 */
export function isFramingFaulty({ raw }: FastifyRequest): boolean {
  return raw.httpVersionMinor === 0 && raw.httpVersionMajor === 1 && 'transfer-encoding' in raw.headers
}
