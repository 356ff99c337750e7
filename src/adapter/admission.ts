import type { FastifyReply, FastifyRequest } from 'fastify'
import { BoundedCache } from '../bounded-cache.js'
import { ProblemError } from '../errors.js'
import { acceptsAny } from '../http/media-types.js'
import type { Reporter } from './report.js'

/** Decides whether a request is let in, before anything is done for it. */
export class Admission {
  /** Is the server closing? Then nobody is let in. */
  closing = false
  readonly #retryAfter: number
  readonly #acceptances = new Map<string, Accepts>()

  /** @param retryAfter seconds after which a client may come back when the server has closed */
  constructor(retryAfter: number) {
    this.#retryAfter = retryAfter
  }

  /** Why a request is not let in, wherever it goes to; `null` if it is. */
  refusal(request: FastifyRequest): ProblemError | null {
    if (this.closing) {
      return new ProblemError('server-closing', {
        detail: 'The server is closing; try again',
        headers: { 'retry-after': String(this.#retryAfter) },
      })
    }
    const { headers, httpVersionMajor, httpVersionMinor } = request.raw
    // RFC 9112 §3.2; Node's own answer to this has no body, so serverOptions() leaves the check to us.
    if (headers.host === undefined && httpVersionMajor === 1 && httpVersionMinor === 1) {
      return new ProblemError('request-malformed', { detail: 'A request in HTTP/1.1 has a Host header' })
    }
    return null
  }

  /**
   * The `onRequest` hook of a route that refuses: whoever is not let in, and who accepts nothing that the route produces.
   *
   * @param produced media types; `null` where they are not known, or no matter
   */
  enforcer(produced: readonly string[] | null) {
    const admission = this
    const acceptable = this.#acceptance(produced)
    return function admitRequest(
      request: FastifyRequest,
      _reply: FastifyReply,
      next: (error?: Error) => void,
    ): void {
      const refusal = admission.refusal(request)
      if (refusal !== null) next(refusal)
      else if (acceptable === null || acceptable(request.raw.headers.accept)) next()
      else
        next(new ProblemError('not-acceptable', { detail: `What is served here is ${produced?.join(', ')}` }))
    }
  }

  /** The `onRequest` hook of a route that only tells who would be refused. */
  observer(produced: readonly string[] | null, reporter: Reporter) {
    const acceptable = this.#acceptance(produced)
    return function observeAcceptance(request: FastifyRequest, _reply: FastifyReply, next: () => void): void {
      if (acceptable !== null && !acceptable(request.raw.headers.accept)) {
        reporter.observe('problems', 'accept', request, `Accept takes none of ${produced?.join(', ')}`)
      }
      next()
    }
  }

  // Routes that produce the same share what is known of headers: clients choose those, on every route.
  #acceptance(produced: readonly string[] | null): Accepts | null {
    if (produced === null) return null
    const key = [...produced].sort().join()
    const known = this.#acceptances.get(key)
    if (known !== undefined) return known
    const accepts = acceptance(produced)
    this.#acceptances.set(key, accepts)
    return accepts
  }
}

/** Does an `Accept` header take what is produced? */
type Accepts = (accept: string | undefined) => boolean

const cachedVerdicts = 100
const longestCached = 256

/** Each header is read once; clients choose them, so neither all nor long ones are kept. */
function acceptance(produced: readonly string[]): Accepts {
  const verdicts = new BoundedCache<string, boolean>(cachedVerdicts)
  return function accepts(accept) {
    if (accept === undefined) return true
    const known = verdicts.get(accept)
    if (known !== undefined) return known
    const verdict = acceptsAny(accept, produced)
    if (accept.length <= longestCached) verdicts.set(accept, verdict)
    return verdict
  }
}
