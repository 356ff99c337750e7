import { isObject } from '../options.js'
import { type AppPath, type Exchange, type Fields, itemsOf, type Send } from './probed-app.js'

/** The groups of clauses that are probed; most have the name of the plugin that keeps them. */
export const probeRules = [
  'problems',
  'pathGuard',
  'methods',
  'caching',
  'head',
  'fields',
  'integerTwins',
  'lists',
  'responseRules',
  'securityHeaders',
  'maintenance',
  'bodies',
] as const

/** A group of clauses that is probed. */
export type ProbeRule = (typeof probeRules)[number]

/** A clause, and whether a route keeps it. */
export interface Verdict {
  readonly rule: ProbeRule
  /** The path pattern of the route; `*` for paths without a route. */
  readonly url: string
  /** The request that shows it: method and target, and header fields. */
  readonly request: string
  readonly expected: string
  /** What the app has answered; `null` if the clause is kept. */
  readonly received: string | null
}

export type Probe = ReturnType<typeof probeOf>

/** Returns what sends the requests for a path to an item that exists, and adds verdicts about the responses. */
export function probeOf(send: Send, verdicts: Verdict[], path: AppPath = noPath, target = '') {
  const sendTo = (url: string, method = 'GET', headers: Fields = {}, payload?: string): Promise<Exchange> =>
    send(method, url, { ...path.headers, ...headers }, payload)

  /** Adds a verdict. `received` is `null` if the clause is kept. */
  function add(rule: ProbeRule, { request }: Exchange, expected: string, received: string | null): void {
    verdicts.push({ rule, url: path.url, request, expected, received })
  }

  function addField(
    rule: ProbeRule,
    exchange: Exchange,
    name: string,
    expected: string,
    isKept: boolean,
  ): void {
    add(rule, exchange, expected, isKept ? null : `${name}: ${exchange.header(name) ?? 'none'}`)
  }

  return {
    path,
    target,
    /** Whether the path is a list on which `limit` has no effect. */
    isUnpaged: false,
    send: (method: string, suffix = '', headers: Fields = {}, payload?: string) =>
      sendTo(target + suffix, method, headers, payload),
    sendTo,
    add,
    addField,

    /** Adds a verdict about the status, and about the body of an error. Returns whether it is one of those that are expected. */
    addStatus(rule: ProbeRule, exchange: Exchange, statuses: readonly number[]): boolean {
      const { status, header } = exchange
      const isExpected = statuses.includes(status)
      const location = header('location') === undefined ? '' : `, location: ${header('location')}`
      const received = isExpected ? null : `status ${status}${location}`
      add(rule, exchange, `status ${statuses.join(' or ')}`, received)
      if (status >= 400) add('problems', exchange, 'a problem document', problemFault(exchange))
      return isExpected
    },

    addNoSniff(exchange: Exchange): void {
      const name = 'x-content-type-options'
      const isKept = exchange.header(name) === 'nosniff'
      addField('securityHeaders', exchange, name, 'X-Content-Type-Options: nosniff', isKept)
    },
  }
}

const noPath: AppPath = { url: '*', segments: [], methods: [], headers: {} }
const unknownPath = '/no-such-path-of-a-probe'

/** Returns what an error lacks to be a problem document (RFC 9457) that caches do not store; `null` if it lacks nothing. */
function problemFault({ request, status, mediaType, json, body, header }: Exchange): string | null {
  if (/\n +at |"stack"|node_modules/.test(body)) return 'a stack trace'
  if (!/\bno-store\b/.test(header('cache-control') ?? '')) return `cache-control: ${header('cache-control')}`
  if (request.startsWith('HEAD ')) return body === '' ? null : 'a body'
  if (mediaType !== 'application/problem+json') return `content-type: ${mediaType}`
  if (!isObject(json)) return 'content that is not a JSON object'
  const missing = ['type', 'title', 'detail', 'code'].find((name) => typeof json[name] !== 'string')
  if (missing !== undefined) return `no member ${missing}`
  return json.status === status ? null : `status ${status} with the member status ${json.status}`
}

/** Paths without a route, and a URL that cannot be decoded. */
export async function probeNoRoute(probe: Probe): Promise<void> {
  const unknown = await probe.sendTo(unknownPath)
  probe.addStatus('problems', unknown, [404])
  probe.addStatus('problems', await probe.sendTo(unknownPath, 'HEAD'), [404])
  probe.addStatus('problems', await probe.sendTo('/%zz'), [400])
  probe.addNoSniff(unknown)
}

/** Methods that the path does not have; nothing runs for them. */
export async function probeMethods(probe: Probe, methods: ReadonlySet<string>): Promise<void> {
  const other = ['DELETE', 'PUT', 'PATCH', 'POST', 'GET'].find((method) => !methods.has(method))
  const cases = [[other, 405] as const, [methods.has('OPTIONS') ? undefined : 'OPTIONS', 204] as const]
  for (const [method, status] of cases) {
    if (method === undefined) continue
    const exchange = await probe.send(method)
    // @fastify/cors refuses an OPTIONS that is not a preflight.
    if (method === 'OPTIONS' && exchange.body.includes('Invalid Preflight Request')) continue
    if (!probe.addStatus('methods', exchange, [status])) continue
    const allow = (exchange.header('allow') ?? '').split(/ *, */)
    const isWhole = [...methods].every((one) => one === 'OPTIONS' || allow.includes(one))
    probe.addField('methods', exchange, 'allow', `Allow with ${[...methods].join(', ')}`, isWhole)
  }
}

/** A letter of the path in upper case, and percent-encoded. */
export async function probeSpelling(probe: Probe): Promise<void> {
  const { path, target } = probe
  const parts = target.split('/')
  const index = 1 + path.segments.findLastIndex(({ kind, text }) => kind === 'literal' && /[a-z]/.test(text))
  if (index === 0) return
  for (const spell of [
    (letter: string) => letter.toUpperCase(),
    (letter: string) => `%${letter.charCodeAt(0).toString(16)}`,
  ]) {
    const changed = parts.with(index, parts[index]?.replace(/[a-z]/, spell) ?? '').join('/')
    probe.addStatus('pathGuard', await probe.sendTo(changed), [404, 400])
  }
}

/** A GET with JSON: what is in its response, and how it is selected and validated. */
export async function probeRead(probe: Probe): Promise<void> {
  const read = await probe.send('GET')
  const { status, json } = read
  if (status >= 400) probe.addStatus('problems', read, [status])
  if (status !== 200 || json === undefined) return
  probe.add('responseRules', read, 'an object at the top level', isObject(json) ? null : 'another value')
  probe.add('integerTwins', read, 'the exact digits of integers beside them', integerFault(json))
  probe.addNoSniff(read)
  await probeHead(probe, read)
  await probeCaching(probe, read)
  const items = itemsOf(json, probe.path)
  if (items !== null) await probeList(probe, items.length)
  await probeFields(probe, items === null ? json : items[0], items !== null)
}

async function probeHead(probe: Probe, read: Exchange): Promise<void> {
  const head = await probe.send('HEAD')
  const names = ['etag', 'content-type', 'cache-control', 'vary']
  const other = names.find((name) => head.header(name) !== read.header(name))
  const ofFields = other === undefined ? null : `${other}: ${head.header(other)}`
  const received = head.status !== 200 ? `status ${head.status}` : head.body !== '' ? 'a body' : ofFields
  probe.add('head', head, 'the header fields of the GET, and no body', received)
}

const entityTag = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const kept304 = ['etag', 'cache-control', 'vary', 'expires', 'content-location']

async function probeCaching(probe: Probe, read: Exchange): Promise<void> {
  const cacheControl = read.header('cache-control')
  probe.add('caching', read, 'Cache-Control', cacheControl === undefined ? 'none' : null)
  if (/\bno-store\b/.test(cacheControl ?? '')) return
  const tag = read.header('etag')
  probe.addField('caching', read, 'etag', 'an ETag', tag !== undefined && entityTag.test(tag))
  if (tag === undefined) return
  const other = '"no-such-tag"'
  for (const value of [tag, '*', `W/${tag.replace(/^W\//, '')}`, `${other}, ${tag}`]) {
    const exchange = await probe.send('GET', '', { 'if-none-match': value })
    if (!probe.addStatus('caching', exchange, [304])) continue
    const { body, header } = exchange
    const lost = kept304.find((name) => read.header(name) !== undefined && header(name) !== read.header(name))
    const surplus = body !== '' ? 'a body' : header('content-type') && 'Content-Type'
    const received = surplus || (lost === undefined ? null : `${lost}: ${header(lost) ?? 'none'}`)
    probe.add('caching', exchange, '304 with the fields of RFC 9110 §15.4.5 and no content', received)
  }
  for (const [headers, status] of [
    [{ 'if-none-match': other }, 200],
    [{ 'if-match': other }, 412],
    // `Date.parse` accepts it, but it is not an HTTP date (RFC 9110 §5.6.7), so the field is ignored.
    [{ 'if-modified-since': '2099-01-01T00:00:00Z' }, 200],
  ] as const)
    probe.addStatus('caching', await probe.send('GET', '', headers as Fields), [status])
}

async function probeList(probe: Probe, length: number): Promise<void> {
  const one = await probe.send('GET', '?limit=1')
  const count = itemsOf(one.json, probe.path)?.length ?? 0
  const { status: statusOfMany } = await probe.send('GET', '?limit=many')
  probe.isUnpaged = one.status === statusOfMany && (one.status === 400 || count === length)
  if (probe.isUnpaged) return
  if (probe.addStatus('lists', one, [200])) {
    probe.add('lists', one, 'at most one item', count <= 1 ? null : `${count} items`)
    const hasNext = /rel="?next"?/.test(one.header('link') ?? '')
    if (length > 1) probe.addField('lists', one, 'link', 'Link with rel="next"', hasNext)
  }
  for (const [limit, status] of [
    ['-1', 400],
    ['many', 400],
    ['1000000000', 200],
  ] as const)
    probe.addStatus('lists', await probe.send('GET', `?limit=${limit}`), [status])
}

async function probeFields(probe: Probe, item: unknown, isList: boolean): Promise<void> {
  if (!isObject(item)) return
  const all = Object.keys(item)
  const names = all.filter((name) => !all.some((base) => isTwinOf(name, base)))
  const [name = ''] = names
  if (names.length < 2) return
  const selected = await probe.send('GET', `?fields=${encodeURIComponent(name)}`)
  if (probe.addStatus('fields', selected, [200])) {
    const found = isList ? itemsOf(selected.json, probe.path)?.[0] : selected.json
    const others = Object.keys(isObject(found) ? found : {}).filter((one) => one !== name)
    const surplus = others.filter((one) => !isTwinOf(one, name))
    const received = surplus.length === 0 ? null : `${surplus.join(', ')} too`
    probe.add('fields', selected, `${name} alone`, received)
  }
  probe.addStatus('fields', await probe.send('GET', '?fields=no_such_field'), [400])
}

function isTwinOf(name: string, base: string): boolean {
  return name === `${base}_str` || name === `${base}Str`
}

/** Bodies that cannot be read, and preconditions that fail. An app that breaks these clauses may carry the request out. */
export async function probeWrites(probe: Probe): Promise<void> {
  const { methods } = probe.path
  const typed = (type: string) => ({ 'content-type': type })
  for (const method of ['POST', 'PUT', 'PATCH'].filter((one) => methods.includes(one))) {
    const broken = await probe.send(method, '', typed('application/json'), '{"a":')
    probe.addStatus('bodies', broken, [400, 415])
    probe.addStatus('bodies', await probe.send(method, '', typed('text/x-no-such-type'), 'a'), [415])
  }
  if (!methods.includes('GET') || (await probe.send('GET')).header('etag') === undefined) return
  for (const method of ['PUT', 'PATCH', 'DELETE'].filter((one) => methods.includes(one))) {
    const condition = { 'if-match': '"no-such-tag"' }
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const hasBody = method !== 'DELETE'
    const exchange = hasBody
      ? await probe.send(method, '', { ...condition, ...typed(type) }, '{}')
      : await probe.send(method, '', condition)
    // The body may be refused before.
    probe.addStatus('caching', exchange, [412, ...(hasBody ? [400, 415, 422] : [])])
  }
}

/** Requests while the app is in maintenance. */
export async function probeMaintenance(probe: Probe): Promise<void> {
  for (const [method, url] of [
    ['GET', '/'],
    ['HEAD', '/'],
    ['GET', unknownPath],
  ] as const) {
    const exchange = await probe.sendTo(url, method)
    if (!probe.addStatus('maintenance', exchange, [503])) continue
    const isValid = /^(?:[1-9]\d*|[A-Z][a-z]{2}, .* GMT)$/.test(exchange.header('retry-after') ?? '')
    probe.addField('maintenance', exchange, 'retry-after', 'Retry-After', isValid)
  }
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
  if (!Array.isArray(value))
    return typeof value === 'bigint' || typeof value === 'number' ? String(value) : null
  const isFlat = value.every((item) => typeof item !== 'object' || item === null)
  return value.length > 0 && isFlat ? String(value) : null
}

function needsTwin(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(needsTwin)
  return typeof value === 'bigint' || (Number.isInteger(value) && !Number.isSafeInteger(value))
}
