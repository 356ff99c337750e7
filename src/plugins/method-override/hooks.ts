import type { FastifyRequest, RouteOptions } from 'fastify'
import { markOf } from '../../convention/raw-request.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import type { RequestStep } from '../../convention/steps.js'
import { isObject } from '../../options.js'
import { formType } from './override.js'

/** Whether the body of a request is a form that named the method which is performed. */
export function isOverridingForm(request: FastifyRequest): boolean {
  const mark = markOf(request)
  return mark?.kind === 'performed' && mark.byForm
}

/** Returns the step that converts the values of a form which is performed as another method; `undefined` without a schema. */
export function formConverter(route: RouteOptions): RequestStep | undefined {
  const schema = formSchema(jsonSchemasOf(route)?.body)
  if (schema === null) return undefined
  return (request) => {
    const { body } = request
    if (!isOverridingForm(request) || !isObject(body)) return undefined
    const change = () => {
      request.body = converted(request, body, schema)
    }
    return { rule: 'performed', given: 'the values of a form', change }
  }
}

/** Returns the schema that validates a form; `null` if there is none. */
function formSchema(body: unknown): Record<string, unknown> | null {
  const content = isObject(body) && isObject(body.content) ? body.content : null
  const media = content?.[formType]
  const schema = content === null ? body : isObject(media) ? media.schema : null
  return isObject(schema) ? schema : null
}

function converted(
  request: FastifyRequest,
  form: Record<string, unknown>,
  schema: Record<string, unknown>,
): Record<string, unknown> {
  // Compiled for the first form: few services get one. The validator of the body reports what is invalid.
  const validate = request.compileValidationSchema(schema, 'querystring')
  // It converts in place, and may remove members that only the validator of the body knows.
  const copy = Object.fromEntries(
    Object.entries(form).map(([name, text]) => [name, Array.isArray(text) ? [...text] : text]),
  )
  const result: unknown = validate(copy)
  const values = isObject(result) && isObject(result.value) ? result.value : copy
  const members = Object.entries(form).map(([name, text]) => {
    const value = Object.hasOwn(values, name) ? values[name] : text
    // Keep the text where a Number does not have all digits.
    if (isRounded(value)) return [name, text]
    return [name, Array.isArray(value) && value.some(isRounded) ? [text].flat() : value]
  })
  return Object.fromEntries(members)
}

function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}
