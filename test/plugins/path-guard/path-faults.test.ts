/** The faults of the raw path of a request: RFC 3986 §3.3 (path), RFC 9112 §3.2 (request target). */
import fc from 'fast-check'
import t from 'tap'
import { pathOf, routePath } from '../../../src/http/url.js'
import { hasFault, segmentFaults } from '../../../src/plugins/path-guard/hooks.js'

const user = routePath('/v1/users/:id')
/** The characters that a path may have as they are: pchar without percent-encoding, and the slash. */
const pathCharacter = /[A-Za-z0-9\-._~!$&'()*+,;=:@/]/

// Reaches every branch soon: letters of both cases, whole and broken escapes, all delimiters.
const target = fc
  .string({ unit: fc.constantFrom(...'aZ09/%5Ae.~-_ \\"?#é𐀀;='), maxLength: 24 })
  .map((text) => `/${text}`)

t.test('the characters of a path (RFC 3986 §3.3), for every character of ASCII and one beyond', async (t) => {
  for (let code = 0; code < 129; code++) {
    const character = String.fromCharCode(code)
    t.equal(hasFault(`/a${character}b`), !isFine(character) && !'?#'.includes(character), `character ${code}`)
  }
})

t.test('a path with a fault has it in one of its segments', async () => {
  fc.assert(
    fc.property(target, (text) => {
      const faults = segmentFaults(pathOf(text), null, false)
      return (faults.length === 0) === !hasFault(text)
    }),
  )
})

t.test('params: any, every allowed value can be an id, if it is encoded', async (t) => {
  const value = fc
    .string({ unit: 'grapheme' })
    .filter((text) => text.isWellFormed() && !/[\p{Cc}/\\]|^\.{1,2}$/u.test(text))
  fc.assert(
    fc.property(value, (id) => segmentFaults(`/v1/users/${encodeURIComponent(id)}`, user, true).length === 0),
  )
  const faults = (path: string) => segmentFaults(path, user, true).map(({ fault }) => fault)
  t.strictSame(faults('/v1/users/%zz'), ['encoding'], 'a broken escape')
  t.strictSame(faults('/v1/users/a/B'), ['uppercase'], 'behind the route')
})

function isFine(character: string): boolean {
  return pathCharacter.test(character) && !/[A-Z]/.test(character)
}
