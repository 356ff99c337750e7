import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { hasParameter, isHealthPath, type PathSegment, routePath, segmentParts } from '../../src/http/url.js'

type Kind = PathSegment['kind']

t.test('the kinds of segments', async (t) => {
  const rows: readonly (readonly [pattern: string, ...segments: (readonly [kind: Kind, text: string])[]])[] =
    [
      ['/v1/users', ['literal', 'v1'], ['literal', 'users']],
      ['/users/:id', ['literal', 'users'], ['parameter', ':id']],
      ['/users/:id(^\\d+$)', ['literal', 'users'], ['parameter', ':id(^\\d+$)']],
      ['/:id([a-z]{2}(x|y))/z', ['parameter', ':id([a-z]{2}(x|y))'], ['literal', 'z']],
      ['/:lat-:lng', ['mixed', ':lat-:lng']],
      ['/:hour(^\\d{2}$)h:minute(^\\d{2}$)m', ['mixed', ':hour(^\\d{2}$)h:minute(^\\d{2}$)m']],
      ['/files/*', ['literal', 'files'], ['wildcard', '*']],
      ['*', ['wildcard', '*']],
      ['/:id(\\d+)*', ['mixed', ':id(\\d+)*']],
      ['/:id(\\))/x', ['parameter', ':id(\\))'], ['literal', 'x']],
      ['/:id-(a)/b', ['mixed', ':id-(a)'], ['literal', 'b']],
      ['/orders::batch', ['literal', 'orders:batch']],
      ['', ['literal', '']],
      ['/users/', ['literal', 'users'], ['literal', '']],
      ['/v1//users', ['literal', 'v1'], ['literal', ''], ['literal', 'users']],
    ]
  for (const [pattern, ...segments] of rows) {
    const expected = segments.map(([kind, text]) => ({ kind, text }))
    t.same(routePath(pattern), expected, pattern)
    t.equal(hasParameter(pattern), !expected.every(({ kind }) => kind === 'literal'))
  }
})

t.test('the path of a health route has no parameter and ends in one of the names', async (t) => {
  const paths = ['/readyz', '/v1/health', '/:id/health', '/health/*', '/health/users', '/v1-health']
  t.strictSame(paths.filter(isHealthPath), paths.slice(0, 2))
})

t.test('the parts of a segment: literal text, with :: unescaped, and parameters', async (t) => {
  const rows: readonly (readonly [text: string, ...parts: (readonly [literal: boolean, text: string])[]])[] =
    [
      [''],
      ['orders::batch', [true, 'orders:batch']],
      [':id', [false, ':id']],
      [':id(\\d+)?', [false, ':id(\\d+)?']],
      ['a::b:id-::c', [true, 'a:b'], [false, ':id'], [true, '-:c']],
      [':lat-:lng', [false, ':lat'], [true, '-'], [false, ':lng']],
      [':id-*', [false, ':id'], [true, '-*']],
    ]
  for (const [text, ...parts] of rows) {
    const expected = parts.map(([literal, part]) => ({ literal, text: part }))
    t.same(segmentParts(text), expected, text)
  }
})

t.test('the router splits a pattern at the same places', async (t) => {
  const rows: readonly (readonly [pattern: string, path: string, params: Record<string, string>])[] = [
    ['/a(b/:c', '/a(b/1', { c: '1' }],
    ['/:id(\\))/x', '/)/x', { id: ')' }],
    ['/:id-(a)/b', '/1-(a)/b', { id: '1' }],
    ['/:h(\\d+)h:m(\\d+)', '/12h30', { h: '12', m: '30' }],
    ['/:a_:b', '/1_2', { 'a_:b': '1_2' }],
    ['/:id::x', '/1', { 'id::x': '1' }],
    ['/:id(\\d+)::x', '/1:x', { id: '1' }],
    ['/backup-*', '/backup-a/b', { '*': 'a/b' }],
    ['/:id.x*', '/1.x*', { id: '1' }],
  ]
  for (const [pattern, url, params] of rows) {
    const app = Fastify()
    app.get(pattern, async (request) => request.params)
    t.same((await app.inject(url)).json(), params, pattern)
  }
})

t.test('the joined parts of a segment are the segment', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab:().-*?_\\') })
  fc.assert(
    fc.property(text, (pattern) => {
      const written = segmentParts(pattern).map((part) =>
        part.literal ? part.text.replaceAll(':', '::') : part.text,
      )
      return written.join('') === pattern
    }),
  )
})
