import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { OpenApiDocument } from '../../src/schema/openapi.js'
import { withoutReferences } from '../support/openapi.js'

/** Throws where a response is not what the OpenAPI document says. */
export type Judge = (
  method: string,
  target: string,
  received: { readonly status: number; readonly headers: Headers; readonly text: string },
) => void

// What the server refuses before it knows the route: the document cannot say it of a route.
const beforeRouting = new Set(['request-malformed', 'uri-malformed', 'expectation-failed', 'request-timeout'])

/** Not in the document: fields of all responses, those about the body, whose media type it says, and the security headers. */
const ofAllResponses = new Set(
  `connection content-length content-security-policy content-type cross-origin-resource-policy date keep-alive
  referrer-policy vary x-content-type-options x-frame-options`.split(/\s+/),
)
/** Documented fields that not each response of the status has. */
const sometimes = new Set(
  `accept-encoding content-disposition content-location idempotent-replayed last-modified link location
  preference-applied retry-after www-authenticate`.split(/\s+/),
)

/** Returns the judge of an OpenAPI document, as `app.swagger()` returns it. */
export function judgeOf(swagger: object): Judge {
  const { paths = {}, components } = withoutReferences(swagger) as OpenApiDocument
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  formats.default(ajv)
  // By the text of the schema: most responses have their headers and their problems in common.
  const validators = new Map<unknown, ValidateFunction>()
  const patterns = Object.keys(paths).map((path) => {
    const pattern = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')
    return [path, new RegExp(`^${pattern}/?$`)] as const
  })

  function validatorOf(schema: unknown): ValidateFunction {
    const known = validators.get(schema)
    if (known !== undefined) return known
    const text = JSON.stringify(schema)
    // References lead into the components.
    const validate = validators.get(text) ?? ajv.compile({ ...(schema as object), components })
    for (const key of [schema, text]) validators.set(key, validate)
    return validate
  }

  return function judge(method, target, { status, headers, text }) {
    const path = target.split('?', 1)[0] ?? ''
    const [template = ''] = patterns.find(([, pattern]) => pattern.test(path)) ?? []
    const name = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = paths[template]?.[name]
    if (operation === undefined) return
    const isJson = /[/+]json/.test(headers.get('content-type') ?? '')
    const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
    if (beforeRouting.has((body as { code?: string } | undefined)?.code ?? '')) return
    const fail = (fault: string): never => {
      throw new Error(`${method} ${target} is not as documented: ${status} ${fault}\n${text.slice(0, 500)}`)
    }
    const described = operation.responses?.[status] ?? fail('is not in the document')
    const documented = Object.entries(described.headers ?? {})
    const names = documented.map(([field]) => field.toLowerCase())
    for (const name of headers.keys())
      if (!ofAllResponses.has(name) && !names.includes(name))
        fail(`has ${name}, which is not in the document`)
    for (const [field, described] of documented) {
      const { schema } = described as { readonly schema: { readonly type?: string } }
      const value = headers.get(field)
      if (value === null && !sometimes.has(field.toLowerCase())) fail(`has no ${field}`)
      const isValid = validatorOf(schema)
      if (value !== null && !isValid(schema.type === 'integer' ? Number(value) : value))
        fail(`${field}: ${value}`)
    }
    if (text === '') return
    const mediaType = headers.get('content-type')?.split(';', 1)[0] ?? ''
    const content = described.content?.[mediaType] ?? fail(`has the media type ${mediaType}`)
    if (!isJson || content.schema === undefined) return
    const isValid = validatorOf(content.schema)
    if (!isValid(body)) fail(ajv.errorsText(isValid.errors))
  }
}
