import { type PathSegment, routePath } from '../../http/url.js'
import { isObject } from '../../options.js'
import type { Send } from './client.js'

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

/** Returns the value of a path parameter of an item that exists; `undefined` if it is not known. */
export type ParameterValue = (name: string, url: string) => string | undefined

/** Returns the members of a list in a response: those of the array member that has the name of the path. */
export function itemsOf(json: unknown, { segments }: Pick<AppPath, 'segments'>): readonly unknown[] | null {
  const last = segments.at(-1)
  if (!isObject(json) || last?.kind !== 'literal') return null
  const plain = (name: string) => name.replaceAll(/[-_]/g, '').toLowerCase()
  const member = Object.keys(json).find((name) => plain(name) === plain(last.text))
  const items = member === undefined ? undefined : json[member]
  return Array.isArray(items) ? items : null
}

/** Fills parameters with the given values, or with the id of the first item of the list above. */
export function pathFiller(
  send: Send,
  paths: readonly AppPath[],
  valueIn: ParameterValue,
): (path: AppPath) => Promise<string | null> {
  const lists = new Map(
    paths.filter(({ methods }) => methods.includes('GET')).map((path) => [path.url, path]),
  )
  const firstItems = new Map<string, Promise<unknown>>()

  async function firstItem(url: string, target: string): Promise<unknown> {
    const list = lists.get(url)
    if (list === undefined) return undefined
    const { json } = await send('GET', target, list.headers)
    return itemsOf(json, list)?.[0]
  }

  return async function fill({ url, segments }) {
    let pattern = ''
    let target = ''
    for (const { kind, text } of segments) {
      if (kind === 'mixed' || kind === 'wildcard') return null
      if (kind === 'parameter') {
        const name = /^:(\w+)/.exec(text)?.[1] ?? ''
        const item = firstItems.get(target) ?? firstItem(pattern, target)
        firstItems.set(target, item)
        const value = valueIn(name, url) ?? idOf(await item, name)
        if (value === undefined) return null
        target += `/${encodeURIComponent(value)}`
      } else target += `/${text}`
      pattern += `/${text}`
    }
    return target
  }
}

function idOf(item: unknown, name: string): string | undefined {
  if (!isObject(item)) return undefined
  const value = [`${name}_str`, 'id_str', 'idStr', name, 'id']
    .map((key) => item[key])
    .find((one) => one !== undefined)
  return value === undefined || value === null || typeof value === 'object' ? undefined : String(value)
}
