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
  if (!isObject(body)) return null
  if (!isObject(body.content)) return body
  const media = body.content[formType]
  return isObject(media) && isObject(media.schema) ? media.schema : null
}

function converted(
  request: FastifyRequest,
  form: Record<string, unknown>,
  schema: Record<string, unknown>,
): unknown {
  // The validator converts in place, and may remove members that only the validator of the body knows.
  const given = Object.fromEntries(
    Object.entries(form).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  )
  // Compiled for the first form: few services get one. The validator of the body reports what is invalid.
  const validate = request.compileValidationSchema(schema, 'querystring')
  const result: unknown = validate(form)
  const values = { ...given, ...(isObject(result) && isObject(result.value) ? result.value : form) }
  // Keep the text where a Number does not have all digits.
  for (const [name, value] of Object.entries(values)) {
    if (isRounded(value)) values[name] = given[name]
    else if (Array.isArray(value) && value.some(isRounded)) values[name] = [given[name]].flat()
  }
  return values
}

function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}
