import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { withoutReferences } from '../support/openapi.js'

/** A response, as it came over the socket. */
interface Received {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Content {
  readonly schema?: Schema
}

interface Schema {
  readonly type?: string
}

interface Described {
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>
  readonly content?: Readonly<Record<string, Content>>
}

interface Operation {
  readonly responses: Readonly<Record<string, Described>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

/** Throws where a response is not what the OpenAPI document says. */
export type Judge = (method: string, target: string, received: Received) => void

// What the server refuses before it knows the route: the document cannot say it of a route.
const beforeRouting = new Set(['request-malformed', 'uri-malformed', 'expectation-failed', 'request-timeout'])

/** Returns the judge of an OpenAPI document, as `app.swagger()` returns it. */
export function judgeOf(swagger: object): Judge {
  const document = withoutReferences(swagger) as Document
  const { components } = document
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  formats.default(ajv)
  // By the text of the schema: most responses have their headers and their problems in common.
  const byText = new Map<string, ValidateFunction>()
  const bySchema = new WeakMap<object, ValidateFunction>()
  const paths = Object.keys(document.paths).map((path) => {
    const pattern = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')
    return [path, new RegExp(`^${pattern}/?$`)] as const
  })

  function validatorOf(schema: Schema): ValidateFunction {
    const known = bySchema.get(schema)
    if (known !== undefined) return known
    const text = JSON.stringify(schema)
    // References lead into the components.
    const validate = byText.get(text) ?? ajv.compile({ ...schema, components })
    bySchema.set(schema, validate)
    byText.set(text, validate)
    return validate
  }

  return function judge(method, target, { status, headers, text }) {
    const path = target.split('?', 1)[0] ?? ''
    const [template] = paths.find(([, pattern]) => pattern.test(path)) ?? []
    const name = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = template === undefined ? undefined : document.paths[template]?.[name]
    if (template === undefined || operation === undefined) return
    const isJson = /[/+]json/.test(headers.get('content-type') ?? '')
    const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
    if (beforeRouting.has((body as { code?: string } | undefined)?.code ?? '')) return
    const fail = (fault: string): never => {
      throw new Error(`${method} ${target} is not as documented: ${status} ${fault}\n${text.slice(0, 500)}`)
    }
    const described = operation.responses[status] ?? fail('is not in the document')
    for (const [field, { schema }] of Object.entries(described.headers ?? {})) {
      const value = headers.get(field)
      if (value === null) continue
      const isValid = validatorOf(schema)
      if (!isValid(schema.type === 'integer' ? Number(value) : value)) fail(`${field}: ${value}`)
    }
    if (text === '') return
    const mediaType = headers.get('content-type')?.split(';', 1)[0] ?? ''
    const content = described.content?.[mediaType] ?? fail(`has the media type ${mediaType}`)
    if (!isJson || content.schema === undefined) return
    const isValid = validatorOf(content.schema)
    if (!isValid(body)) fail(ajv.errorsText(isValid.errors))
  }
}
