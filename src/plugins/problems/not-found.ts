import { ProblemError } from '../../problem/problem-error.js'
import { segmentTooLong } from '../../problem/problem-of.js'
import { clip } from '../../text.js'
import { acceptPatch, type Content } from './media-types.js'

/** A request that no route serves. */
export interface UnservedRequest {
  readonly method: string
  /** The raw path. */
  readonly path: string
  /** The longest value of a path parameter. */
  readonly maxParamLength: number
  /** Returns the methods of the routes at the path, without OPTIONS. */
  readonly methodsAtPath: () => readonly string[]
  /** Whether a context with PATCH routes parses a media type. */
  readonly parsesPatch: Content['parses']
}

/**
 * Returns the problem of a request that no route serves: 405 with `Allow` for another method on a known path (RFC 9110
 * §15.5.6), else 404. Returns the header fields of a 204 for `OPTIONS` on a known path (§9.3.7).
 */
export function judgeUnserved(request: UnservedRequest): ProblemError | Readonly<Record<string, string>> {
  const { method, path, maxParamLength } = request
  // RFC 9110 §9.3.7: OPTIONS * is about the server.
  if (path === '*' && method === 'OPTIONS') return {}
  // A segment that is too long for a parameter is a 414 at any place of a path.
  if (path.split('/').some((segment) => segment.length > maxParamLength)) {
    return new ProblemError('uri-too-long', { detail: segmentTooLong })
  }
  const methods = request.methodsAtPath()
  // A handler that calls reply.callNotFound() serves the path and the method.
  if (methods.length === 0 || methods.includes(method)) {
    return new ProblemError('not-found', { detail: `There is nothing at ${clip(path, maxShown)}` })
  }
  const headers = {
    allow: [...methods, 'OPTIONS'].sort().join(', '),
    ...(methods.includes('PATCH') ? acceptPatch(request.parsesPatch) : undefined),
  }
  if (method === 'OPTIONS') return headers
  return new ProblemError('method-not-allowed', {
    detail: `${method} is not among the methods of ${clip(path, maxShown)}: ${headers.allow}`,
    headers,
  })
}

const maxShown = 200
