import { ProblemError } from './problem-error.js'

/** Returns a 406 that lists the media types of the resource (RFC 9110 §15.5.7), in `detail` and as `available`. */
export function notAcceptable(mediaTypes: readonly string[], why = ''): ProblemError {
  return new ProblemError('not-acceptable', {
    detail: `${why}The resource is available as ${mediaTypes.join(', ')}`,
    extensions: { available: mediaTypes },
  })
}
