import { hasParameter } from '../../http/route-path.js'
import { type DescribedProblem, problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { wordsOf } from '../../words/key-names.js'

/** What the errors of a route depend on. */
export interface DescribedRoute {
  readonly methods: readonly string[]
  readonly path: string
  /** The schemas of the route. */
  readonly schema: object
  /** Media types that the route produces; `null` if they are not known. */
  readonly produced: readonly string[] | null
  /** The codes of the app, with their statuses; `null` if the app does not declare them. */
  readonly codes: Readonly<Record<string, number>> | null
  /** Whether a handler is stopped after some time. */
  readonly hasTimeout: boolean
}

/** Returns the problems of Fastify and of the app on a route, for the OpenAPI document. */
export function describeErrors(route: DescribedRoute): RouteDescription {
  const { methods, path, schema, produced, codes, hasTimeout } = route
  const takesBody = methods.some((method) => !bodiless.has(method))
  const isValidated = inputs.some((part) => part in schema)
  return {
    problems: [
      ...problemsOf({
        ...(takesBody ? ofBody : {}),
        ...(isValidated ? { validation: 'The input is invalid' } : {}),
        ...(hasParameter(path) ? ofPath : {}),
        ...(produced === null ? {} : { 'not-acceptable': 'The route has none of the accepted media types' }),
        'internal-server-error': 'The server failed',
        'server-closing': 'The server is closing',
        ...(hasTimeout ? { 'handler-timeout': 'The server has not answered in time' } : {}),
      }),
      ...ofApp(codes ?? {}),
    ],
    isComplete: codes !== null,
    headersOf: {
      415: {
        ...(methods.includes('PATCH') ? acceptPatch : {}),
        ...(takesBody && methods.some((method) => method !== 'PATCH') ? accept : {}),
      },
      503: {
        'Retry-After': { type: 'string', description: 'Seconds, or the time, after which to try again' },
      },
    },
  }
}

const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])
const inputs = ['body', 'querystring', 'query', 'params', 'headers'] as const

const ofBody = {
  'body-malformed': 'The body is malformed',
  'content-too-large': 'The body is too large',
  'unsupported-media-type': 'The media type of the body is not supported',
} as const

const ofPath = {
  'not-found': 'There is no such resource',
  'uri-too-long': 'A part of the path is too long',
} as const

const acceptPatch = {
  'Accept-Patch': { type: 'string', description: 'The media types that are supported (RFC 5789 §3.1)' },
}

const accept = {
  Accept: { type: 'string', description: 'The media types that are supported (RFC 9110 §15.5.16)' },
}

function ofApp(codes: Readonly<Record<string, number>>): readonly DescribedProblem[] {
  return Object.entries(codes).map(([code, status]) => {
    const words = wordsOf(code).join(' ')
    return { code, status, description: words.charAt(0).toUpperCase() + words.slice(1) }
  })
}
