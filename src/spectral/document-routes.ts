import { pointerToken } from '../json/json-text.js'
import {
  decodedPart,
  isPlainObject,
  type Json,
  mapSchema,
  type SchemaStore,
  valueAt,
} from '../schema/json-schema.js'

export interface DocumentRoute {
  readonly method: string
  /** The path pattern in Fastify's notation, with the path of the server in front. */
  readonly path: string
  /** The response schemas by status, which refer to each other by their names among the components. */
  readonly response: unknown
  readonly query: readonly string[]
  readonly location: readonly string[]
}

export interface DocumentRoutes {
  readonly routes: readonly DocumentRoute[]
  readonly schemas: SchemaStore
}

/** Reads the operations of an OpenAPI 3 document, whether its references are resolved or not. */
export function documentRoutes(document: unknown): DocumentRoutes {
  if (!isPlainObject(document) || !/^3\./.test(String(document.openapi))) return { routes: [], schemas: {} }
  const follow = (value: unknown): Members => followed(document as Json, value)
  const prefix = serverPath(document.servers)
  const routes = Object.entries(membersOf(document.paths)).flatMap(([path, item]) =>
    Object.entries(follow(item))
      .filter(([method]) => methods.has(method))
      .map(([method, given]): DocumentRoute => {
        const operation = follow(given)
        const parameters = [...listOf(follow(item).parameters), ...listOf(operation.parameters)].map(follow)
        return {
          method: method.toUpperCase(),
          path: fastifyPath(prefix + path),
          response: responsesOf(operation.responses, follow),
          query: parameters.filter((one) => one.in === 'query').map(({ name }) => String(name)),
          location: ['paths', path, method],
        }
      }),
  )
  const schemas = Object.entries(membersOf(membersOf(document.components).schemas)).map(([name, schema]) => {
    const $id = pointerToken(name)
    return [$id, { ...membersOf(byName(schema as Json)), $id }]
  })
  return { routes, schemas: Object.fromEntries(schemas) }
}

/** Returns a path, or an option that has one, with parameters in the notation of OpenAPI. */
export function openApiPath(text: string): string {
  return text.replace(/(?<!:):(\w+)/g, '{$1}').replaceAll('::', ':')
}

type Members = Readonly<Record<string, unknown>>

const methods: ReadonlySet<string> = new Set('get put post delete options head patch trace'.split(' '))

const maxReferences = 10

function membersOf(value: unknown): Members {
  return isPlainObject(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function followed(document: Json, value: unknown): Members {
  let found = value
  for (let steps = 0; steps < maxReferences; steps++) {
    const { $ref } = membersOf(found)
    if (typeof $ref !== 'string' || !$ref.startsWith('#')) break
    found = valueAt(document, $ref.slice(1))
  }
  return membersOf(found)
}

/** The path of the servers if all of them have the same. */
function serverPath(servers: unknown): string {
  const paths = new Set(
    listOf(servers).map((server) => {
      const url = String(membersOf(server).url).replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
      return url.split(/[?#]/, 1)[0]?.replace(/\/+$/, '') ?? ''
    }),
  )
  const [path = ''] = paths
  return paths.size === 1 && path.startsWith('/') ? path : ''
}

/** Returns a path template in Fastify's notation: `/v1/users/:id` for `/v1/users/{id}`. */
function fastifyPath(template: string): string {
  return template
    .replaceAll(':', '::')
    .replace(/\{([^}]*)\}/g, (_, name: string) => (name === '*' ? '*' : `:${name.replace(/\W/g, '_')}`))
}

function responsesOf(responses: unknown, follow: (value: unknown) => Members): unknown {
  const entries = Object.entries(membersOf(responses)).map(([status, given]) => {
    const bodies = Object.entries(membersOf(follow(given).content)).map(([type, body]) => {
      const { schema } = membersOf(body)
      return [type, schema === undefined ? {} : { schema: byName(schema as Json) }]
    })
    return [status, { content: Object.fromEntries(bodies) }]
  })
  return Object.fromEntries(entries)
}

const ofSchemas = '#/components/schemas/'

/** Returns a schema whose references name the schemas among the components, as those of Fastify do. */
function byName(schema: Json): Json {
  return mapSchema(schema, (part) => {
    const { $ref } = part
    if (typeof $ref !== 'string' || !$ref.startsWith(ofSchemas)) return part
    const [name = '', ...rest] = $ref.slice(ofSchemas.length).split('/')
    return { ...part, $ref: [`${decodedPart(name)}#`, ...rest].join('/') }
  })
}
