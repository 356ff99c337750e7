import { mediaTypeOf } from '../http/media-types.js'
import { isObject } from '../options.js'
import { isPlainObject } from './json-schema.js'

export function isObjectSchema(value: unknown): value is Readonly<Record<string, unknown>> {
  return isPlainObject(value) && !('$ref' in value)
}

export function queryOf(schema: object = {}): unknown {
  const { querystring, query } = schema as { readonly querystring?: unknown; readonly query?: unknown }
  return querystring ?? query
}

export interface ResponseBody {
  /** The status, a class of statuses or `default`, in lower case: `200`, `2xx`. */
  readonly status: string
  /** `null` where the schema counts for any media type. */
  readonly mediaType: string | null
  readonly schema: unknown
}

export function responseBodies(response: unknown): ResponseBody[] {
  const bodies: ResponseBody[] = []
  for (const [key, schema] of isObject(response) ? Object.entries(response) : []) {
    const status = key.toLowerCase()
    if (!isObject(schema) || !isObject(schema.content)) {
      bodies.push({ status, mediaType: null, schema })
      continue
    }
    for (const [type, body] of Object.entries(schema.content)) {
      bodies.push({ status, mediaType: mediaTypeOf(type), schema: isObject(body) ? body.schema : undefined })
    }
  }
  return bodies
}

export function bodyFor<Body extends Pick<ResponseBody, 'status' | 'mediaType'>>(
  bodies: readonly Body[],
  status: number,
  mediaType = 'application/json',
): Body | null {
  for (const key of [`${status}`, `${Math.trunc(status / 100)}xx`, 'default']) {
    for (const type of [null, mediaType, '*/*']) {
      const body = bodies.find((one) => one.status === key && one.mediaType === type)
      if (body !== undefined) return body
    }
  }
  return null
}

export function declaresSuccess(response: unknown): boolean {
  return isObject(response) && Object.keys(response).some(isSuccess)
}

export function successBodies(response: unknown): ResponseBody[] {
  const bodies = responseBodies(response)
  if (!declaresSuccess(response)) return bodies.filter(({ status }) => status === 'default')
  return bodies.filter(({ status }) => isSuccess(status) && status !== '204' && status !== '205')
}

function isSuccess(status: string): boolean {
  return /^2(\d\d|xx)$/i.test(status)
}

/** The media types that a route declares for success; `null` if it declares none, or leaves them open. */
export function producedTypes(response: unknown): readonly string[] | null {
  const bodies = successBodies(response)
  const selected = bodies.filter(({ status }) => status !== '202')
  const types = (selected.length === 0 ? bodies : selected).flatMap(({ mediaType, schema }) => {
    if (mediaType !== null) return [mediaType]
    if (isOfType(schema, 'null')) return []
    // The handler sets the media type of text.
    return isOfType(schema, 'string') ? ['*/*'] : ['application/json']
  })
  return types.length === 0 || types.some((type) => type.includes('*')) ? null : [...new Set(types)]
}

// `{ type: 'null' }` declares a response without a body.
function isOfType(schema: unknown, type: string): boolean {
  return isObject(schema) && schema.type === type
}

export function mapBodies(response: unknown, map: (schema: unknown) => unknown): unknown {
  if (!isPlainObject(response)) return response
  return mapValues(response, (declared) => {
    if (!isPlainObject(declared) || !isPlainObject(declared.content)) return map(declared)
    const content = mapValues(declared.content, (body) => {
      const schema = isPlainObject(body) ? map(body.schema) : undefined
      return !isPlainObject(body) || schema === body.schema ? body : { ...body, schema }
    })
    return content === declared.content ? declared : { ...declared, content }
  })
}

function mapValues(object: object, map: (value: unknown) => unknown): object {
  const entries = Object.entries(object)
  const mapped = entries.map(([key, value]) => [key, map(value)] as const)
  return mapped.some(([, value], index) => value !== entries[index]?.[1])
    ? Object.fromEntries(mapped)
    : object
}
