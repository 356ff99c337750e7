/** The selection of members that the response schema does not name: maps, open objects, alternatives. */
import Fastify from 'fastify'
import t from 'tap'
import { fields } from '../../../src/index.js'
import { bodyOf, int64, object, text } from './one-route.js'

const open = { additionalProperties: true }

t.test('a hidden field is left out and refused, also where no name is unknown', async (t) => {
  const secret = object({ a: text, secret: text }, open)
  const map = object({ m: { type: 'object', additionalProperties: secret } })
  const m = { x: { a: 'a', secret: 's' }, y: { secret: 's' } }
  const n = 9_007_199_254_740_993n
  const rows: readonly (readonly [path: string, schema: object, value: object, body: string])[] = [
    ['secret', secret, { a: 'a', secret: 's', x: 1 }, '{"a":"a","x":1}'],
    ['m.x.secret', map, { m }, '{"m":{"x":{"a":"a"},"y":{"secret":"s"}}}'],
    ['any.secret', object({ any: {} }), { any: [{ secret: 's' }, 's'] }, '{"any":[{},"s"]}'],
    ['n', object({ a: text }, open), { n, n_str: `${n}`, a: 'a' }, '{"a":"a"}'],
  ]
  for (const [path, schema, value, body] of rows) {
    const config = { hidden: { [path]: true as const } }
    t.equal(await bodyOf('', schema, value, { config }), body, path)
    t.match(await bodyOf(`?fields=${path}`, schema, value, { config }), 'fields-invalid', path)
  }
})

t.test('in a recursive schema a path applies to its own place only', async (t) => {
  const node = object({ name: text, secret: text, child: { anyOf: [{ type: 'null' }, { $ref: '#' }] } })
  const leaf = { name: 'c', secret: 's', child: null }
  const root = { name: 'a', secret: 's', child: { name: 'b', secret: 's', child: leaf } }
  const config = { hidden: { secret: true, 'child.secret': true } } as const
  for (const [query, body] of [
    ['', '{"name":"a","child":{"name":"b","child":{"name":"c","secret":"s","child":null}}}'],
    ['?fields=child.child.child.name', '{"child":{"child":{"child":null}}}'],
  ] as const)
    t.equal(await bodyOf(query, node, root, { config }), body, query)
  t.match(await bodyOf('?fields=child.secret', node, root, { config }), 'fields-invalid')
})

t.test('with hidden fields, request.fields.has() is true for unnamed members', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const schema = { response: { 200: object({ a: text, o: object({ b: text, secret: text }) }, open) } }
  const config = { fields: { hidden: { 'o.secret': true as const } } }
  app.get('/v1/things/:id', { schema, config }, (request) => ({
    wanted: ['a', 'o', 'o.b', 'o.secret', 'other', 'o.other'].filter((path) => request.fields?.has(path)),
  }))
  t.strictSame((await app.inject('/v1/things/1')).json(), { wanted: ['a', 'o', 'o.b', 'other'] })
  t.strictSame((await app.inject('/v1/things/1?fields=wanted')).json(), { wanted: [] })
})

t.test('without the plugin of twins, id_str is a field like any other', async (t) => {
  const schema = object({ id: int64, id_str: text, n: int64 })
  const value = { id: 5, id_str: '5', n: 1 }
  const twins = false
  t.equal(await bodyOf('?fields=id_str', schema, value, { twins }), '{"id_str":"5"}')
  t.equal(await bodyOf('?fields=id,id_str', schema, value, { twins }), '{"id":5,"id_str":"5"}')
  t.match(await bodyOf('?fields=n_str', schema, value, { twins }), 'fields-invalid')
  const config = { hidden: { n: true as const } }
  t.equal(await bodyOf('', schema, value, { twins, config }), '{"id":5,"id_str":"5"}')
})

t.test('two valid names are valid together', async (t) => {
  const either = object({ o: { anyOf: ['x', 'y'].map((name) => object({ p: object({ [name]: text }) })) } })
  for (const names of ['o.p.x', 'o.p.y', 'o.p.x,o.p.y'])
    t.equal(await bodyOf(`?fields=${names}`, either, {}), '{}', names)
})
