/** Integers of forms: texts, as those of a query. */
import { parse } from 'node:querystring'
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins, methodOverride, problems } from '../../../../src/index.js'

const int64 = { type: 'integer', format: 'int64' }
const body = {
  type: 'object',
  additionalProperties: false,
  properties: { user_id: int64, ids: { type: 'array', items: int64 }, note: { type: 'string' } },
}
const form = { 'content-type': 'application/x-www-form-urlencoded' }

async function service(mode: 'enforce' | 'report' = 'enforce') {
  const app = Fastify()
  app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, (_request, text, done) =>
    done(null, { ...parse(String(text)) }),
  )
  await app.register(problems)
  await app.register(methodOverride)
  await app.register(integerTwins, { mode })
  app.route({
    method: ['POST', 'PATCH'],
    url: '/v1/users/7',
    schema: { body },
    handler: async ({ body }) => ({
      got: JSON.stringify(body, (_, one) => (typeof one === 'bigint' ? `${one}n` : one)),
    }),
  })
  return async (payload: string) => {
    const answer = await app.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload })
    return answer.statusCode === 200 ? JSON.parse(answer.json().got) : answer.json().errors
  }
}

t.test('an int64 of a form is the exact BigInt, also of a form that overrides the method', async (t) => {
  const answerTo = await service()
  const rows: readonly (readonly [fields: string, got: object])[] = [
    ['user_id=31&note=9007199254740993', { user_id: '31n', note: '9007199254740993' }],
    ['user_id=-9223372036854775808', { user_id: '-9223372036854775808n' }],
    ['user_id_str=9007199254740993', { user_id: '9007199254740993n' }],
    ['ids=1&ids=9007199254740993', { ids: ['1n', '9007199254740993n'] }],
    ['_method=PATCH&user_id=9007199254740993', { user_id: '9007199254740993n' }],
    ['_method=PATCH&ids=9007199254740993', { ids: ['9007199254740993n'] }],
  ]
  for (const [fields, got] of rows) t.same(await answerTo(fields), got, fields)
  for (const fields of ['user_id=1.5', 'user_id=x', '_method=PATCH&user_id=9223372036854775808'])
    t.match(await answerTo(fields), [{ in: 'body', pointer: '/user_id' }], fields)
})

t.test('report mode takes an int64 of a form as it is', async (t) => {
  const answerTo = await service('report')
  t.same(await answerTo('user_id=31'), { user_id: 31 })
})
