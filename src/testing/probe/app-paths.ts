import { type PathSegment, routePath } from '../../http/route-path.js'

export interface AppPath {
  /** The path pattern, such as `/v1/users/:id`. */
  readonly url: string
  readonly segments: readonly PathSegment[]
  readonly methods: readonly string[]
  readonly headers: Readonly<Record<string, string>>
}

const line = /^((?:[│ ] {3})*)([├└]── )?(.*)$/
const methodsAndConstraints = /^(.*?) \(([A-Z, -]+)\)(?: (\{.*\}))?$/
// Routes may give a parameter different names.
const alternatives = /^(:\w+)(?:\|:\w+)+$/

/** Reads the text of `printRoutes()`: each line has a part of a path below that of the line above it. */
export function appPaths(printed: string): AppPath[] {
  const parts: string[] = []
  const paths: AppPath[] = []
  for (const text of printed.split('\n')) {
    const [, indentation = '', branch, content = ''] = line.exec(text) ?? []
    if (content === '') continue
    const [, part = content, methods, constraints] = methodsAndConstraints.exec(content) ?? []
    if (branch !== undefined) {
      const own = part === '(empty root node)' ? '' : part.replace(alternatives, '$1')
      parts.splice(indentation.length / 4, Number.POSITIVE_INFINITY, own)
    }
    const headers = constraints === undefined ? {} : headersOf(JSON.parse(constraints))
    if (methods === undefined || headers === null) continue
    const url = parts.join('')
    paths.push({ url, segments: routePath(url), methods: methods.split(', '), headers })
  }
  return paths
}

/** Returns the header fields of constraints; `null` for constraints of the app's own. */
function headersOf({ version, host, ...others }: Record<string, unknown>): Record<string, string> | null {
  if (Object.keys(others).length > 0) return null
  return {
    ...(typeof version === 'string' ? { 'accept-version': version } : {}),
    ...(typeof host === 'string' ? { host } : {}),
  }
}
