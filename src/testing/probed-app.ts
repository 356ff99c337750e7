import { isJson, mediaTypeOf } from '../http/media-types.js'
import { type PathSegment, routePath } from '../http/url.js'
import { parseExact } from '../json/exact-json.js'
import { isObject } from '../options.js'

/** The part of a Fastify app that probes need. */
export interface ProbedApp {
  ready(): PromiseLike<unknown>
  printRoutes(): string
  inject(request: ProbeRequest): PromiseLike<InjectedResponse>
}

/** A request of a probe. */
export interface ProbeRequest {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string
}

/** A response of Fastify's `inject()`. */
export interface InjectedResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export type Fields = Readonly<Record<string, string>>

export interface Exchange {
  /** Method and target, and the header fields that are not those of each request. */
  readonly request: string
  readonly status: number
  readonly body: string
  /** The JSON of the body with exact integers; `undefined` for other content. */
  readonly json: unknown
  readonly mediaType: string
  /** Returns the value of a header field; `undefined` if the response has none. */
  header(name: string): string | undefined
}

export type Send = (method: string, url: string, headers?: Fields, payload?: string) => Promise<Exchange>

export function sender(app: ProbedApp, common: Fields): Send {
  return async function send(method, url, own = {}, payload) {
    const given = payload === undefined ? {} : { payload }
    const response = await app.inject({ method, url, headers: { ...common, ...own }, ...given })
    const { statusCode: status, body } = response
    if (status === 429)
      throw new Error(`${method} ${url}: the quota is used up; give the app under test a larger one`)
    const header = (name: string): string | undefined => {
      const value = response.headers[name]
      return value === undefined ? undefined : String(value)
    }
    const mediaType = mediaTypeOf(header('content-type'))
    const fields = Object.entries(own).map(([name, value]) => `, ${name}: ${value}`)
    const request = `${method} ${url}${fields.join('')}`
    return { request, status, body, json: isJson(mediaType) ? jsonOf(body) : undefined, mediaType, header }
  }
}

function jsonOf(body: string): unknown {
  try {
    return parseExact(body)
  } catch {
    return undefined
  }
}

export interface AppPath {
  /** The path pattern, such as `/v1/users/:id`. */
  readonly url: string
  readonly segments: readonly PathSegment[]
  readonly methods: readonly string[]
  /** The header fields of its constraints. */
  readonly headers: Fields
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
    const [, part = content, methods, constraints = '{}'] = methodsAndConstraints.exec(content) ?? []
    if (branch !== undefined) {
      const own = part === '(empty root node)' ? '' : part.replace(alternatives, '$1')
      parts.splice(indentation.length / 4, Number.POSITIVE_INFINITY, own)
    }
    const headers = headersOf(JSON.parse(constraints))
    if (methods === undefined || headers === null) continue
    const url = parts.join('')
    paths.push({ url, segments: routePath(url), methods: methods.split(', '), headers })
  }
  return paths
}

/** Returns the header fields of constraints; `null` for constraints of the app's own. */
function headersOf({ version, host, ...others }: Record<string, unknown>): Fields | null {
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
  // A route at `/` below a prefix also has the path that ends in a slash.
  const last = segments.findLast(({ text }) => text !== '')
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
    return list && itemsOf((await send('GET', target, list.headers)).json, list)?.[0]
  }

  return async function fill({ url, segments }) {
    let pattern = ''
    let target = ''
    for (const { kind, text } of segments) {
      if (kind === 'mixed' || kind === 'wildcard') return null
      let segment = text
      if (kind === 'parameter') {
        const name = /^:(\w+)/.exec(text)?.[1] ?? ''
        const item = firstItems.get(target) ?? firstItem(pattern, target)
        firstItems.set(target, item)
        const value = valueIn(name, url) ?? idOf(await item, name)
        if (value === undefined) return null
        segment = encodeURIComponent(value)
      }
      target += `/${segment}`
      pattern += `/${text}`
    }
    return target
  }
}

function idOf(item: unknown, name: string): string | undefined {
  if (!isObject(item)) return undefined
  const names = [`${name}_str`, 'id_str', 'idStr', name, 'id']
  const value = names.map((key) => item[key]).find((one) => one !== undefined)
  return value === null || value === undefined || typeof value === 'object' ? undefined : String(value)
}
