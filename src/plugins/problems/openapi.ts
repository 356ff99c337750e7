import type { RouteOptions } from 'fastify'
import { isJson } from '../../http/media-types.js'
import { hasParameter } from '../../http/url.js'
import { kept } from '../../kept.js'
import { inWords, problemMediaType } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription, retryAfterDescribed } from '../../problem/route-description.js'
import { isPlainObject } from '../../schema/json-schema.js'
import { responseBodies } from '../../schema/responses.js'

type Codes = Readonly<Record<string, number>>

export function describeErrors(
  { schema = {}, path }: RouteOptions & { readonly path: string },
  methods: readonly string[],
  /** Media types that the route produces; `null` if they are not known. */
  produced: readonly string[] | null,
  /** The codes of the app, with their statuses; `null` if the app does not declare them. */
  codes: Codes | null,
  hasTimeout: boolean,
): readonly RouteDescription[] {
  const takesBody = methods.some((method) => !bodiless.has(method))
  const takesPatch = methods.includes('PATCH')
  const takesOther = takesBody && methods.some((method) => method !== 'PATCH')
  const isValidated = inputs.some((part) => part in schema)
  const isOfResource = hasParameter(path)
  const isNegotiated = produced !== null
  const facts = [takesBody, takesPatch, takesOther, isValidated, isOfResource, isNegotiated, hasTimeout]
  const shared = kept(descriptions, facts.join(), () => ({
    problems: problemsOf({
      ...(takesBody ? ofBody : {}),
      ...(isValidated ? { validation: 'The input is invalid' } : {}),
      ...(isOfResource ? ofPath : {}),
      ...(isNegotiated ? { 'not-acceptable': 'The route has none of the accepted media types' } : {}),
      'internal-server-error': 'The server failed',
      'server-closing': 'The server is closing',
      ...(hasTimeout ? { 'handler-timeout': 'The server has not answered in time' } : {}),
    }),
    headersOf: {
      415: {
        ...(takesBody && {
          'Accept-Encoding': field('The content codings that are supported (RFC 9110 §15.5.16)'),
        }),
        ...(takesPatch && { 'Accept-Patch': field(`${supported} (RFC 5789 §3.1)`) }),
        ...(takesOther && { Accept: field(`${supported} (RFC 9110 §15.5.16)`) }),
      },
      503: retryAfterDescribed,
    },
  }))
  return codes === null ? [shared] : [shared, kept(describedCodes, codes, () => ofCodes(codes))]
}

function ofCodes(codes: Codes): RouteDescription {
  const problems = Object.entries(codes).map(([code, status]) => ({
    code,
    status,
    description: inWords(code),
  }))
  return { problems, isComplete: true }
}

// Most routes are described alike.
const descriptions = new Map<string, RouteDescription>()
const describedCodes = new WeakMap<Codes, RouteDescription>()

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

const supported = 'The media types that are supported'

function field(description: string): object {
  return { type: 'string', description }
}

/** Returns the errors that a route documents as other JSON, although problem documents are sent. */
export function documentedErrors(response: unknown): string[] {
  const bodies = responseBodies(response)
  const hasSuccess = bodies.some(({ status }) => /^[123]/.test(status))
  const found = new Map<string, string[]>()
  for (const { status, mediaType, schema } of bodies) {
    // Beside a success, `default` is the schema of errors.
    const isError = /^[45]/.test(status) || (status === 'default' && hasSuccess)
    const type = mediaType ?? 'application/json'
    const isOther = type !== problemMediaType && isJson(type) && describesContent(schema)
    if (isError && isOther) found.set(type, [...(found.get(type) ?? []), status])
  }
  return [...found].map(
    ([type, statuses]) => `${statuses.join(', ')}: documented as ${type}, and sent as ${problemMediaType}`,
  )
}

function describesContent(schema: unknown): boolean {
  if (!isPlainObject(schema)) return schema !== undefined
  return schema.type !== 'null' && Object.keys(schema).some((keyword) => keyword !== 'description')
}
