import { isObject } from '../../options.js'
import type { Exchange, Send } from './client.js'
import { type AppPath, itemsOf } from './paths.js'
import type { Verdicts } from './verdict.js'

export interface Probe {
  readonly path: AppPath
  readonly target: string
  readonly send: Send
  readonly verdicts: Verdicts
}

const unsafe = ['DELETE', 'PUT', 'PATCH', 'POST']
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const kept304 = ['etag', 'cache-control', 'vary', 'expires', 'content-location']

/** Paths without a route, and a URL that cannot be decoded. */
export async function probeNoRoute(send: Send, verdicts: Verdicts): Promise<void> {
  const unknown = await send('GET', '/no-such-path-of-a-probe')
  verdicts.addStatus('problems', unknown, [404])
  verdicts.addStatus('problems', await send('HEAD', '/no-such-path-of-a-probe'), [404])
  verdicts.addStatus('problems', await send('GET', '/%zz'), [400])
  addNoSniff(verdicts, unknown)
}

/** Methods that the path does not have; nothing runs for them. */
export async function probeMethods(
  { path, target, send, verdicts }: Probe,
  methods: ReadonlySet<string>,
): Promise<void> {
  const other = [...unsafe, 'GET'].find((method) => !methods.has(method))
  const allowed = (exchange: Exchange) => {
    const allow = (exchange.header('allow') ?? '').split(/ *, */)
    const missing = [...methods].filter((method) => method !== 'OPTIONS' && !allow.includes(method))
    const received = missing.length === 0 ? null : `allow: ${exchange.header('allow') ?? 'none'}`
    verdicts.add('methods', exchange, `Allow with ${[...methods].join(', ')}`, received)
  }
  if (other !== undefined) {
    const exchange = await send(other, target, path.headers)
    if (verdicts.addStatus('methods', exchange, [405])) allowed(exchange)
  }
  if (methods.has('OPTIONS')) return
  const options = await send('OPTIONS', target, path.headers)
  if (verdicts.addStatus('methods', options, [204])) allowed(options)
}

export async function probeSpelling({ path, target, send, verdicts }: Probe): Promise<void> {
  const parts = target.split('/')
  const index = 1 + path.segments.findLastIndex(({ kind, text }) => kind === 'literal' && /[a-z]/.test(text))
  if (index === 0) return
  const change = (letter: (first: string) => string) =>
    parts.with(index, parts[index]?.replace(/[a-z]/, letter) ?? '').join('/')
  for (const changed of [
    change((letter) => letter.toUpperCase()),
    change((letter) => `%${letter.charCodeAt(0).toString(16)}`),
  ])
    verdicts.addStatus('pathGuard', await send('GET', changed, path.headers), [404, 400])
}

/** A GET with JSON: what is in its response, and how it is selected and validated. */
export async function probeRead(probe: Probe): Promise<void> {
  const { path, target, send, verdicts } = probe
  const read = await send('GET', target, path.headers)
  if (read.status >= 400) verdicts.addStatus('problems', read, [read.status])
  if (read.status !== 200 || read.json === undefined) return
  const isNamed = isObject(read.json) && !Array.isArray(read.json)
  verdicts.add('responseRules', read, 'an object at the top level', isNamed ? null : 'another value')
  verdicts.add('integerTwins', read, 'the exact digits of integers beside them', integerFault(read.json))
  addNoSniff(verdicts, read)
  await probeHead(probe, read)
  await probeCaching(probe, read)
  const items = itemsOf(read.json, path)
  if (items !== null) await probeList(probe, items)
  await probeFields(probe, items === null ? read.json : items[0], items !== null)
}

async function probeHead({ path, target, send, verdicts }: Probe, read: Exchange): Promise<void> {
  const head = await send('HEAD', target, path.headers)
  const names = ['etag', 'content-type', 'cache-control', 'vary']
  const other = names.find((name) => head.header(name) !== read.header(name))
  const received =
    head.status !== 200
      ? `status ${head.status}`
      : head.body !== ''
        ? 'a body'
        : other === undefined
          ? null
          : `${other}: ${head.header(other)}`
  verdicts.add('head', head, 'the header fields of the GET, and no body', received)
}

async function probeCaching({ path, target, send, verdicts }: Probe, read: Exchange): Promise<void> {
  const cacheControl = read.header('cache-control')
  verdicts.add('caching', read, 'Cache-Control', cacheControl === undefined ? 'none' : null)
  if (/\bno-store\b/.test(cacheControl ?? '')) return
  const tag = read.header('etag')
  verdicts.add(
    'caching',
    read,
    'an ETag',
    tag !== undefined && entityTag.test(tag) ? null : `etag: ${tag ?? 'none'}`,
  )
  if (tag === undefined) return
  const get = (headers: Record<string, string>) => send('GET', target, { ...path.headers, ...headers })
  const other = '"no-such-tag"'
  const opaque = tag.replace(/^W\//, '')
  for (const value of [tag, '*', `W/${opaque}`, `${other}, ${tag}`]) {
    const exchange = await get({ 'if-none-match': value })
    if (!verdicts.addStatus('caching', exchange, [304])) continue
    const lost = kept304.find(
      (name) => read.header(name) !== undefined && exchange.header(name) !== read.header(name),
    )
    const surplus = exchange.body !== '' ? 'a body' : exchange.header('content-type') && 'Content-Type'
    const received = surplus || (lost === undefined ? null : `${lost}: ${exchange.header(lost) ?? 'none'}`)
    verdicts.add('caching', exchange, '304 with the fields of RFC 9110 §15.4.5 and no content', received)
  }
  verdicts.addStatus('caching', await get({ 'if-none-match': other }), [200])
  verdicts.addStatus('caching', await get({ 'if-match': other }), [412])
  // `Date.parse` accepts it, but it is not an HTTP date (RFC 9110 §5.6.7), so the field is ignored.
  verdicts.addStatus('caching', await get({ 'if-modified-since': '2099-01-01T00:00:00Z' }), [200])
}

async function probeList({ path, target, send, verdicts }: Probe, items: readonly unknown[]): Promise<void> {
  const one = await send('GET', `${target}?limit=1`, path.headers)
  if (verdicts.addStatus('lists', one, [200])) {
    const count = itemsOf(one.json, path)?.length ?? 0
    verdicts.add('lists', one, 'at most one item', count <= 1 ? null : `${count} items`)
    if (items.length > 1) {
      const hasNext = /rel="?next"?/.test(one.header('link') ?? '')
      verdicts.add(
        'lists',
        one,
        'Link with rel="next"',
        hasNext ? null : `link: ${one.header('link') ?? 'none'}`,
      )
    }
  }
  for (const limit of ['-1', 'many'])
    verdicts.addStatus('lists', await send('GET', `${target}?limit=${limit}`, path.headers), [400])
  verdicts.addStatus('lists', await send('GET', `${target}?limit=1000000000`, path.headers), [200])
}

async function probeFields(
  { path, target, send, verdicts }: Probe,
  item: unknown,
  isList: boolean,
): Promise<void> {
  if (!isObject(item)) return
  const all = Object.keys(item)
  const names = all.filter((name) => !all.some((base) => isTwinOf(name, base)))
  const [name = ''] = names
  if (names.length < 2) return
  const query = `${target}?fields=${encodeURIComponent(name)}`
  const selected = await send('GET', query, path.headers)
  if (verdicts.addStatus('fields', selected, [200])) {
    const found = isList ? itemsOf(selected.json, path)?.[0] : selected.json
    const surplus = Object.keys(isObject(found) ? found : {}).filter(
      (other) => other !== name && !isTwinOf(other, name),
    )
    verdicts.add(
      'fields',
      selected,
      `${name} alone`,
      surplus.length === 0 ? null : `${surplus.join(', ')} too`,
    )
  }
  const unknown = await send('GET', `${target}?fields=no_such_field`, path.headers)
  verdicts.addStatus('fields', unknown, [400])
}

function isTwinOf(name: string, base: string): boolean {
  return name === `${base}_str` || name === `${base}Str`
}

/** Bodies that cannot be read, and preconditions that fail. An app that breaks these clauses may carry the request out. */
export async function probeWrites({ path, target, send, verdicts }: Probe): Promise<void> {
  const { methods, headers } = path
  for (const method of ['POST', 'PUT', 'PATCH'].filter((one) => methods.includes(one))) {
    const json = { ...headers, 'content-type': 'application/json' }
    verdicts.addStatus('bodies', await send(method, target, json, '{"a":'), [400, 415])
    const text = { ...headers, 'content-type': 'text/x-no-such-type' }
    verdicts.addStatus('bodies', await send(method, target, text, 'a'), [415])
  }
  if (!methods.includes('GET') || (await send('GET', target, headers)).header('etag') === undefined) return
  for (const method of ['PUT', 'PATCH', 'DELETE'].filter((one) => methods.includes(one))) {
    const fields = { ...headers, 'if-match': '"no-such-tag"' }
    const body = method === 'DELETE' ? undefined : '{}'
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const exchange = await send(
      method,
      target,
      body === undefined ? fields : { ...fields, 'content-type': type },
      body,
    )
    // The body may be refused before.
    verdicts.addStatus('caching', exchange, [412, ...(body === undefined ? [] : [400, 415, 422])])
  }
}

/** Requests while the app is in maintenance. */
export async function probeMaintenance(send: Send, verdicts: Verdicts, target: string): Promise<void> {
  for (const [method, url] of [
    ['GET', target],
    ['HEAD', target],
    ['GET', '/no-such-path-of-a-probe'],
  ] as const) {
    const exchange = await send(method, url)
    if (!verdicts.addStatus('maintenance', exchange, [503])) continue
    const after = exchange.header('retry-after') ?? 'none'
    const isValid = /^[1-9]\d*$/.test(after) || /^[A-Z][a-z]{2}, .* GMT$/.test(after)
    verdicts.add('maintenance', exchange, 'Retry-After', isValid ? null : `retry-after: ${after}`)
  }
}

function addNoSniff(verdicts: Verdicts, exchange: Exchange): void {
  const value = exchange.header('x-content-type-options')
  const received = value === 'nosniff' ? null : `x-content-type-options: ${value ?? 'none'}`
  verdicts.add('securityHeaders', exchange, 'X-Content-Type-Options: nosniff', received)
}

/** Returns the first integer without a twin that needs one. Not recursive: the value may be as deep as a parser allows. */
function integerFault(json: unknown): string | null {
  const open: unknown[] = [json]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) open.push(...value.filter((item) => typeof item === 'object'))
    if (!isObject(value)) continue
    for (const [name, member] of Object.entries(value)) {
      const twin = value[`${name}_str`] ?? value[`${name}Str`]
      const digits = digitsOf(member)
      if (digits !== null && twin === undefined && needsTwin(member))
        return `${name}: ${digits} without a twin`
      if (digits !== null && twin !== undefined && String(digitsOf(twin) ?? twin) !== digits)
        return `${name}: ${digits} with the twin ${twin}`
      if (typeof member === 'object') open.push(member)
    }
  }
  return null
}

function digitsOf(value: unknown): string | null {
  if (Array.isArray(value)) return value.length > 0 && value.every(isScalar) ? String(value) : null
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : null
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function needsTwin(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(needsTwin)
  return typeof value === 'bigint' || (Number.isInteger(value) && !Number.isSafeInteger(value))
}
