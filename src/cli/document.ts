export type DocumentState =
  /** No plugin makes one. */
  | { readonly state: 'none' }
  /** The boot was stopped before. */
  | { readonly state: 'not made' }
  /** The plugin that makes it throws. */
  | { readonly state: 'failed'; readonly message: string }
  | {
      readonly state: 'made'
      readonly openapi: string
      readonly operations: number
      /** Operations whose responses of success have no schema, such as `GET /v1/users`. */
      readonly withoutResponse: readonly string[]
    }

export function documentState(make: (() => unknown) | undefined): DocumentState {
  if (make === undefined) return { state: 'none' }
  try {
    const { openapi, swagger, paths } = make() as Document
    const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => methods.has(method))
        .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    )
    const withoutResponse = operations
      .filter(({ operation }) => !describesSuccess((operation as Operation).responses))
      .map(({ name }) => name)
    return {
      state: 'made',
      openapi: String(openapi ?? swagger),
      operations: operations.length,
      withoutResponse,
    }
  } catch (error) {
    return { state: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

export function describeDocument(document: DocumentState): string {
  if (document.state === 'none') return 'OpenAPI document: none, @fastify/swagger is not registered'
  if (document.state === 'not made') return 'OpenAPI document: not made, because findings stop the boot'
  if (document.state === 'failed') return `OpenAPI document: cannot be made: ${document.message}`
  const { openapi, operations, withoutResponse } = document
  const [first, ...others] = withoutResponse
  const count = `OpenAPI document: ${openapi}, ${operations} operation${operations === 1 ? '' : 's'}`
  if (first === undefined) return count
  const rest = others.length === 0 ? '' : ` and ${others.length} more`
  return `${count}; without a response schema: ${first}${rest}`
}

const methods: ReadonlySet<string> = new Set('get put post delete options head patch trace'.split(' '))

interface Document {
  readonly openapi?: unknown
  readonly swagger?: unknown
  readonly paths?: Readonly<Record<string, object>>
}

interface Operation {
  readonly responses?: Readonly<
    Record<string, { readonly content?: unknown; readonly schema?: unknown; readonly $ref?: unknown }>
  >
}

/** Whether a response of success has a schema, or no content by its status. */
function describesSuccess(responses: Operation['responses'] = {}): boolean {
  return Object.entries(responses).some(([status, { content, schema, $ref }]) => {
    if (/^(?:204|205|3(?!04)..)$/.test(status)) return true
    return /^2/.test(status) && (content !== undefined || schema !== undefined || $ref !== undefined)
  })
}
