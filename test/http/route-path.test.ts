/** Patterns in the notation of Fastify's router, taken apart. */
import fc from 'fast-check'
import t from 'tap'
import { type PathSegment, routePath } from '../../src/http/route-path.js'

type Kind = PathSegment['kind']

/** Any UTF-16 code units, lone surrogates among them. */
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }),
)

t.test('the kinds of segments', async (t) => {
  const rows: readonly (readonly [pattern: string, ...segments: (readonly [kind: Kind, text: string])[]])[] =
    [
      ['/v1/users', ['literal', 'v1'], ['literal', 'users']],
      ['v1/users', ['literal', 'v1'], ['literal', 'users']],
      ['/users/:id', ['literal', 'users'], ['parameter', ':id']],
      ['/users/:user_id/orders', ['literal', 'users'], ['parameter', ':user_id'], ['literal', 'orders']],
      ['/users/:id?', ['literal', 'users'], ['parameter', ':id?']],
      ['/users/:id(^\\d+$)', ['literal', 'users'], ['parameter', ':id(^\\d+$)']],
      ['/:id([a-z]{2}(x|y))/z', ['parameter', ':id([a-z]{2}(x|y))'], ['literal', 'z']],
      ['/:id(^[A-Z]+/x$)/y', ['parameter', ':id(^[A-Z]+/x$)'], ['literal', 'y']],
      ['/:id.json', ['mixed', ':id.json']],
      ['/:name.:ext', ['mixed', ':name.:ext']],
      ['/:lat-:lng', ['mixed', ':lat-:lng']],
      ['/user-:id', ['mixed', 'user-:id']],
      ['/:hour(^\\d{2}$)h:minute(^\\d{2}$)m', ['mixed', ':hour(^\\d{2}$)h:minute(^\\d{2}$)m']],
      ['/files/*', ['literal', 'files'], ['wildcard', '*']],
      ['*', ['wildcard', '*']],
      ['/orders::batch', ['literal', 'orders:batch']],
      ['/::x', ['literal', ':x']],
      ['/', ['literal', '']],
      ['', ['literal', '']],
      ['/users/', ['literal', 'users'], ['literal', '']],
      ['/v1//users', ['literal', 'v1'], ['literal', ''], ['literal', 'users']],
      ['//', ['literal', ''], ['literal', '']],
    ]
  for (const [pattern, ...segments] of rows) {
    t.same(
      routePath(pattern),
      segments.map(([kind, text]) => ({ kind, text })),
      pattern,
    )
  }
})

t.test('segments joined are the pattern again', async () => {
  const segment = fc.constantFrom('users', ':id', ':id?', ':id(^\\d+$)', ':id(a/b)', ':a-:b', 'x.y', '', '*')
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1 }), (segments) => {
      const texts = routePath(`/${segments.join('/')}`).map(({ text }) => text)
      return texts.join('/') === segments.join('/') && texts.length === segments.length
    }),
  )
})

t.test('without parentheses and colons every slash parts literals', async () => {
  const text = fc.string({ unit: 'grapheme' }).filter((pattern) => !/[():*]/.test(pattern))
  fc.assert(
    fc.property(text, (pattern) => {
      const segments = routePath(`/${pattern}`)
      return (
        segments.map((segment) => segment.text).join('/') === pattern &&
        segments.length === pattern.split('/').length &&
        segments.every(({ kind }) => kind === 'literal')
      )
    }),
  )
})

t.test('any text: no throw, at least one segment', async () => {
  fc.assert(fc.property(anyText, (pattern) => routePath(pattern).length > 0))
})
