/** What the report says about the OpenAPI document of the app. */
export interface DocumentState {
  /** Whether the plugin that makes it has thrown. */
  readonly isBroken: boolean
  readonly text: string
}

/** @param isReady whether no finding has stopped the boot */
export function documentState(make: (() => unknown) | undefined, isReady: boolean): DocumentState {
  if (make === undefined) return { isBroken: false, text: 'none, @fastify/swagger is not registered' }
  if (!isReady) return { isBroken: false, text: 'not made, because findings stop the boot' }
  try {
    const { openapi, swagger, paths } = make() as Document
    const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) =>
        methods.has(method) ? [{ name: `${method.toUpperCase()} ${path}`, operation }] : [],
      ),
    )
    const [first, ...others] = operations.filter(
      ({ operation }) => !describesSuccess((operation as Operation).responses),
    )
    const count = `${openapi ?? swagger}, ${operations.length} operation${operations.length === 1 ? '' : 's'}`
    const rest = others.length === 0 ? '' : ` and ${others.length} more`
    const missing = first === undefined ? '' : `; without a response schema: ${first.name}${rest}`
    return { isBroken: false, text: count + missing }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { isBroken: true, text: `cannot be made: ${message}` }
  }
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
