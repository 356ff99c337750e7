import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { markOf } from '../../fastify/raw-request.js'
import { addHook } from '../../fastify/route.js'
import { isObject } from '../../options.js'
import { formType } from './override-post.js'

/**
 * Adds the `preValidation` hook that converts the body of a form which is performed as another method. All values of a
 * form are strings, as those of a query are, and so the validator of the app converts them as it converts a query.
 */
export function convertForms(route: RouteOptions, methods: readonly string[]): void {
  const schema = formSchema(route.schema?.body)
  if (schema === null || ![route.method].flat().some((method) => methods.includes(method))) return
  addHook(route, 'preValidation', 'methodOverride', convertForm)

  function convertForm(request: FastifyRequest, _reply: FastifyReply, next: (error?: Error) => void): void {
    const mark = markOf(request)
    if (mark?.kind === 'performed' && mark.byForm && isObject(request.body)) {
      request.body = converted(request, request.body, schema ?? {})
    }
    next()
  }
}

/** The schema that a form is validated by; `null` where there is none. */
function formSchema(body: unknown): object | null {
  if (!isObject(body)) return null
  if (!isObject(body.content)) return body
  const media = body.content[formType]
  return isObject(media) && isObject(media.schema) ? media.schema : null
}

function converted(request: FastifyRequest, form: Record<string, unknown>, schema: object): unknown {
  const given = { ...form }
  // Compiled when a first form comes: few services ever get one. Whether it is valid, the validator of the body says.
  const validate = request.compileValidationSchema(schema as Record<string, unknown>, 'querystring')
  const result: unknown = validate(form)
  const values: unknown = isObject(result) && isObject(result.value) ? result.value : form
  return isObject(values) ? withoutRounded(values, given) : values
}

/** The values, but the text where a Number does not have all its digits. */
function withoutRounded(values: Record<string, unknown>, given: Record<string, unknown>): unknown {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) values[name] = given[name]
  }
  return values
}
