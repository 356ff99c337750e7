/** Decisions §3 and §10: exact integers reach the handler, and what hooks of the app did to the body stays. */
import Fastify from 'fastify'
import t from 'tap'
import { parseExact } from '../../src/json/exact-body.js'
import { markBody } from '../../src/json/mark-body.js'
import { integerTwins } from '../../src/plugins/integer-twins/index.js'

const exact = (text: string): unknown => parseExact(text, JSON.parse).value

t.test('a body as it was parsed gets all marks', async (t) => {
  const text = '{"id":9007199254740993,"list":[1,9007199254740995],"note":"9007199254740993"}'
  const { value, marks } = markBody(JSON.parse(text), exact(text))
  t.equal(marks, 2)
  t.same(value, exact(text))
})

t.test('what the app has changed stays', async (t) => {
  const text = '{"id":9007199254740993,"other":9007199254740995,"gone":9007199254740997}'
  const { value, marks } = markBody({ id: 5, other: 9007199254740996, tenant: 'x' }, exact(text))
  t.equal(marks, 1)
  t.match(value, { id: 5, tenant: 'x' })
  t.notOk(Object.hasOwn(value as object, 'gone'))
})

t.test('a body that has become something else is left alone', async (t) => {
  const text = '{"id":9007199254740993}'
  for (const body of [null, undefined, 'text', 7, [], Object.create(null)]) {
    t.same(markBody(body, exact(text)), { value: body, marks: 0 })
  }
})

t.test('nesting without end is no matter', async (t) => {
  const text = `${'['.repeat(5000)}9007199254740993${']'.repeat(5000)}`
  t.equal(markBody(JSON.parse(text), exact(text)).marks, 0)
})

t.test('a hook of the app changes the body, whatever its digits', async (t) => {
  const app = Fastify()
  app.addHook('preValidation', async (request) => void Object.assign(request.body as object, { tenant: 'x' }))
  await app.register(integerTwins)
  const body = { type: 'object', properties: { id: { type: 'integer', format: 'int64' } } }
  app.post('/v1/users', { schema: { body } }, async (request) => {
    const { id, tenant } = request.body as { id: bigint; tenant: string }
    return { got: `${typeof id} ${id} ${tenant}` }
  })
  for (const id of ['5', '9007199254740993']) {
    const headers = { 'content-type': 'application/json' }
    const answer = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: `{"id":${id}}` })
    t.equal(answer.json().got, `bigint ${id} x`)
  }
})
