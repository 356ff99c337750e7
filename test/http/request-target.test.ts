import fc from 'fast-check'
import t from 'tap'
import { pathOf, queryOf } from '../../src/http/url.js'

const target = fc
  .string({ unit: fc.constantFrom(...'aZ09/%5Ae.~-_ \\"?#é𐀀;='), maxLength: 24 })
  .map((text) => `/${text}`)

t.test('path and query of a request target', async (t) => {
  const rows: readonly (readonly [target: string, path: string, query: string])[] = [
    ['/v1/users?', '/v1/users', ''],
    ['/v1/users?a=1&b=2', '/v1/users', 'a=1&b=2'],
    ['/v1/users?a=1#f', '/v1/users', 'a=1'],
    ['http://h/v1/users?a=1', '/v1/users', 'a=1'],
    ['https://h:8443/', '/', ''],
    ['http://h?x=/Y', '', 'x=/Y'],
    ['/proxy?to=http://h/x', '/proxy', 'to=http://h/x'],
    ['//h/v1', '//h/v1', ''],
  ]
  for (const [text, path, query] of rows) {
    t.equal(pathOf(text), path, `path of ${text}`)
    t.equal(queryOf(text), query, `query of ${text}`)
  }
})

t.test('the absolute form (RFC 9112 §3.2.2) is read as its path', async () => {
  const authority = fc.constantFrom('http://h', 'https://H.EXAMPLE:8080', 'http://[::1]:3000', 'HTTP://u:P@h')
  fc.assert(fc.property(authority, target, (start, text) => pathOf(start + text) === pathOf(text)))
})
