/** The faults of the raw path of a request: RFC 3986 §3.3 (path), RFC 9112 §3.2 (request target). */
import fc from 'fast-check'
import t from 'tap'
import { pathOf, routePath } from '../../../src/http/url.js'
import { type PathFault, pathFault, segmentFaults } from '../../../src/plugins/path-guard/path-faults.js'

const user = routePath('/v1/users/:id')
const twoParameters = routePath('/v1/users/:id/files/:name.json')
const wildcard = routePath('/v1/files/*')
const prefixed = routePath('/v1/files-*')

/** The characters that a path may have as they are: pchar without percent-encoding, and the slash. */
const pathCharacter = /[A-Za-z0-9\-._~!$&'()*+,;=:@/]/

// Reaches every branch soon: letters of both cases, whole and broken escapes, all delimiters.
const target = fc
  .string({ unit: fc.constantFrom(...'aZ09/%5Ae.~-_ \\"?#é𐀀;='), maxLength: 24 })
  .map((text) => `/${text}`)

t.test('the characters of a path (RFC 3986 §3.3), for every character of ASCII and one beyond', async (t) => {
  for (let code = 0; code < 129; code++) {
    const character = String.fromCharCode(code)
    const fault: PathFault | null = /[A-Z]/.test(character)
      ? 'uppercase'
      : pathCharacter.test(character) || '?#'.includes(character)
        ? null
        : 'encoding'
    t.equal(pathFault(`/a${character}b`), fault, `character ${code}`)
  }
})

t.test('the raw path is checked, and no query', async (t) => {
  const rows: readonly (readonly [target: string, fault: PathFault | null])[] = [
    ['/v1/users', null],
    ['/v1/Users', 'uppercase'],
    ['/v1/users/AbC', 'uppercase'],
    ['/v1/%55sers', 'encoding'],
    ['/v1/u%73ers', 'encoding'],
    ['/v1/users/a%20b', 'encoding'],
    ['/v1/users/%zz', 'encoding'],
    ['/v1/users/%', 'encoding'],
    ['/v1/users/a%2Fb', 'encoding'],
    ['/v1/users?name=Ab%20C', null],
    ['/v1/users#Ab%20C', null],
    ['/v1/users?a=/B', null],
    ['/v1/users?next=http://a.example/B', null],
    ['/V1?q', 'uppercase'],
    ['/', null],
    ['*', null],
    ['', null],
    ['http://Example.COM/v1/users', null],
    ['HTTP://example.com/v1/users', null],
    ['http://example.com/v1/Users', 'uppercase'],
    ['http://user%40:p@example.com/v1/users', null],
    ['http://example.com', null],
    ['http://Example.com?x=/Y', null],
  ]
  for (const [text, fault] of rows) t.equal(pathFault(text), fault, text)
})

t.test('pathFault() returns the first character that a path must not have', async () => {
  fc.assert(
    fc.property(target, (text) => {
      const path = pathOf(text)
      const first = [...path].find((character) => !/[a-z]/.test(character) && !isFine(character))
      const hasDotSegment = path
        .split('/')
        .slice(1)
        .some((segment) => segment === '.' || segment === '..')
      if (first === undefined) return pathFault(text) === (hasDotSegment ? 'encoding' : null)
      return pathFault(text) === (/[A-Z]/.test(first) ? 'uppercase' : 'encoding')
    }),
  )
})

t.test('a path with a fault has it in one of its segments', async () => {
  fc.assert(
    fc.property(target, (text) => {
      const faults = segmentFaults(pathOf(text), null, false)
      return (faults.length === 0) === (pathFault(text) === null)
    }),
  )
})

t.test('faults are those of segments; hex digits of an escape are not uppercase letters', async (t) => {
  t.same(segmentFaults('/v1/users/abc', user, false), [])
  t.same(segmentFaults('/V1/users/AbC', user, false), [
    { index: 0, fault: 'uppercase' },
    { index: 2, fault: 'uppercase' },
  ])
  t.same(segmentFaults('/v1/us%41ers/x', user, false), [{ index: 1, fault: 'encoding' }])
  t.same(segmentFaults('/v1/users/a%2Fb', user, false), [{ index: 2, fault: 'encoding' }])
  t.same(segmentFaults('/v1/users/A%2FB', user, false), [
    { index: 2, fault: 'uppercase' },
    { index: 2, fault: 'encoding' },
  ])
})

t.test('params: any, parameters may be anything, literals stay strict', async (t) => {
  const fine: readonly (readonly [path: string, route: typeof user])[] = [
    ['/v1/users/AbC', user],
    ['/v1/users/a%20b', user],
    ['/v1/users/%C3%A9', user],
    ['/v1/users/%252F', user],
    ['/v1/users/A.b..C', user],
    ['/v1/users/', user],
    ['/v1/users/X/files/Report.json', twoParameters],
    ['/v1/files/A/B%20C/d', wildcard],
    ['/v1/files-A/B', prefixed],
    ['/v1/users/%C2%A0', user],
  ]
  for (const [path, route] of fine) t.same(segmentFaults(path, route, true), [], path)

  t.same(segmentFaults('/v1/Users/AbC', user, true), [{ index: 1, fault: 'uppercase' }], 'a literal')
  t.same(
    segmentFaults('/v1/us%65rs/AbC', user, true),
    [{ index: 1, fault: 'encoding' }],
    'an encoded literal',
  )
  t.same(segmentFaults('/v1/users/X/Files/a.json', twoParameters, true), [{ index: 3, fault: 'uppercase' }])
  t.same(segmentFaults('/v1/users/AbC', null, true), [{ index: 2, fault: 'uppercase' }], 'no route')
  t.same(segmentFaults('/v1/users/a/B', user, true), [{ index: 3, fault: 'uppercase' }], 'beyond the route')
})

t.test('params: any, decoded values are still checked', async (t) => {
  const harmful = [
    'a%2Fb',
    'a%2fb',
    '%5C',
    '%00',
    '%0d%0a',
    '%7F',
    '%C2%80',
    '%C2%85',
    '%C2%9F',
    '%2e',
    '%2E%2E',
    '.',
    '..',
    '%',
    '%zz',
    '%ff',
  ]
  for (const text of harmful) {
    t.same(segmentFaults(`/v1/users/${text}`, user, true), [{ index: 2, fault: 'encoding' }], text)
    t.same(
      segmentFaults(`/v1/files/a/${text}`, wildcard, true),
      [{ index: 3, fault: 'encoding' }],
      `*: ${text}`,
    )
  }
})

t.test('params: any, every allowed value can be an id, if it is encoded', async () => {
  const value = fc
    .string({ unit: 'grapheme' })
    .filter((text) => text.isWellFormed() && !/[\p{Cc}/\\]|^\.{1,2}$/u.test(text))
  fc.assert(
    fc.property(value, (id) => segmentFaults(`/v1/users/${encodeURIComponent(id)}`, user, true).length === 0),
  )
})

t.test('any text and any pattern: no throw', async () => {
  const anyText = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  fc.assert(
    fc.property(anyText, anyText, fc.boolean(), (path, pattern, anyParameter) => {
      pathFault(path)
      segmentFaults(pathOf(path), routePath(pattern), anyParameter)
    }),
  )
})

function isFine(character: string): boolean {
  return pathCharacter.test(character) && !/[A-Z]/.test(character)
}
