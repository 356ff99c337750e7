import { exchange, requestBytes } from '../../support/raw.js'
import type { OwnTest, OwnTests } from './own-tests.js'

/** The bytes of responses, by the name of the request. */
export type RawResponses = Readonly<Record<string, string>>

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const page = { origin: 'https://pages.example' }

/** What is sent to each path: method, suffix of the path, header fields, body. */
const variants: readonly (readonly [string, string?, Readonly<Record<string, string>>?, string?])[] = [
  ['HEAD'],
  ['OPTIONS'],
  ['OPTIONS', '', { ...page, 'access-control-request-method': 'GET' }],
  ['GET', '', { ...page, accept: 'application/xml', 'accept-encoding': 'gzip' }],
  ['GET', '', { 'if-none-match': '*', 'if-modified-since': 'Sun, 06 Nov 2033 08:49:37 GMT' }],
  ['GET', '', { 'if-match': '"other"', prefer: 'wait=1', 'sec-fetch-site': 'cross-site' }],
  ['GET', '?fields=id&format=csv&limit=1&before_id=9007199254740993&_method=DELETE'],
  ['GET', '/'],
  ['GET', '/%41'],
  ['PUT', '', json, '{"id":9007199254740993,"id_str":"1"}'],
  ['PATCH', '', json, '{"a":'],
  ['POST', '', { ...json, 'idempotency-key': 'key-1' }, '[1e400]'],
  ['POST', '', { ...form, 'x-http-method-override': 'DELETE' }, '_method=PATCH&name=a'],
  ['POST', '', { ...json, 'content-encoding': 'br', 'x-http-method-override': 'TRACE' }, '{}'],
  ['DELETE', '', { 'content-type': 'application/octet-stream' }, 'abc'],
  ['PROPFIND'],
]

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`

/** Requests that are wrong in themselves, or that no route serves. */
const others: Readonly<Record<string, string>> = {
  'an unknown path': requestBytes('GET', '/no/such/path', page),
  'an unknown path, by POST': requestBytes('POST', '/no/such/path', json, '{"a":1}'),
  'the server': requestBytes('OPTIONS', '*'),
  'a broken escape': requestBytes('GET', '/%zz'),
  'a broken escape of UTF-8': requestBytes('GET', '/a/%c3%28'),
  'a long segment': requestBytes('GET', `/${'a'.repeat(5000)}`),
  'a whole URL': requestBytes('GET', 'http://other.example/'),
  'header fields that are too long': requestBytes('GET', '/', { a: 'a'.repeat(20_000) }),
  'no host': head('GET / HTTP/1.1', 'connection: close'),
  'two hosts': head('GET / HTTP/1.1', 'host: a', 'host: b', 'connection: close'),
  'no HTTP': head('GARBAGE'),
  'a field without a name': head('GET / HTTP/1.1', 'host: a', ': b', 'connection: close'),
  'HTTP/1.0': head('GET / HTTP/1.0'),
  'an unknown method': head('BREW / HTTP/1.1', 'host: a', 'connection: close'),
  'an unknown expectation': requestBytes('GET', '/', { expect: 'coffee' }),
  'two lengths': head('POST / HTTP/1.1', 'host: a', 'content-length: 1', 'content-length: 2'),
  'an unknown coding': head('POST / HTTP/1.1', 'host: a', 'transfer-encoding: coffee', 'connection: close'),
}

/** Sends each own test of an app, variants of it, and requests that are wrong; each on a connection of its own. */
export async function rawResponses(port: number, ownTests: OwnTests): Promise<RawResponses> {
  const responses: Record<string, string> = {}
  const cookies = new Map<string, string>()
  async function send(name: string, bytes: string): Promise<string> {
    const response = stable(await exchange(port, bytes))
    responses[name] = response
    return response
  }

  for (const test of ownTests.tests) {
    const { as } = test
    if (as !== undefined && !cookies.has(as) && ownTests.login !== undefined) {
      const login = await send(`login of ${as}`, bytesOf(ownTests.login(as) as OwnTest, {}))
      cookies.set(as, /^set-cookie: ([^;]+)/im.exec(login)?.[1] ?? '')
    }
    await send(test.name, bytesOf(test, as === undefined ? {} : { cookie: cookies.get(as) ?? '' }))
  }
  const [cookie] = cookies.values()
  const user = cookie === undefined ? {} : { cookie }
  for (const path of new Set(ownTests.tests.map(({ url }) => url.split('?')[0] ?? ''))) {
    for (const [method, suffix = '', headers = {}, body] of variants) {
      const target = `${path}${suffix}`
      const name = `${method} ${target} ${JSON.stringify(headers)}`
      await send(name, requestBytes(method, target, { ...user, ...headers }, body))
    }
  }
  for (const [name, bytes] of Object.entries(others)) await send(name, bytes)
  return responses
}

function bytesOf(
  { method = 'GET', url, headers, payload = '' }: OwnTest,
  user: Record<string, string>,
): string {
  const isText = typeof payload === 'string'
  const fields = { ...(isText ? {} : json), ...headers, ...user }
  return requestBytes(method, url, fields, isText ? payload : JSON.stringify(payload))
}

/** Returns a response without what the clock changes. */
function stable(response: string): string {
  return response
    .replace(/^date: .*\r\n/im, '')
    .replace(/^((?:retry-after|x-ratelimit-reset): )\d+/gim, '$1<seconds>')
    .replace(/\breqId":"[^"]+/g, 'reqId":"<id>')
}
