/** Operations with schemas of their input and of their result. */
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { exactJson } from '../../../src/json/exact-json.js'
import type { OperationContext, OperationDefinition } from '../../../src/plugins/operations/index.js'
import { restorer, validInput } from '../../../src/plugins/operations/typed-value.js'
import { isProblem } from '../../support/problem.js'
import { openProcess } from './process.js'

const int64 = { type: 'integer', format: 'int64' }
const input = {
  type: 'object',
  required: ['id'],
  properties: {
    id: int64,
    friend_ids: { type: 'array', items: int64 },
    parent_id: { type: ['integer', 'null'], format: 'int64' },
    count: { type: 'integer', default: 3 },
    at: { type: 'string', format: 'date-time' },
  },
}
const result = {
  type: 'object',
  properties: { id: int64, friend_ids: { type: 'array', items: int64 }, count: { type: 'integer' } },
}

async function service(
  t: Test,
  kind = 'alone',
  definition: OperationDefinition = { input, result },
  prepare: (app: FastifyInstance) => unknown = () => {},
) {
  const inputs: unknown[] = []
  const work = ({ input }: OperationContext) => {
    inputs.push(input)
    return { result: input }
  }
  const preset = kind === 'preset' ? {} : null
  const process = await openProcess(t, { isShared: false, definition, prepare, preset, work })
  const { ask, begin, ended } = process
  return {
    ...process,
    inputs,
    done: async (given?: unknown) => ended(await begin({ owner: null }, given)),
    async post(payload: string, url = '/v1/works') {
      const headers = { 'content-type': 'application/json', prefer: 'wait=5' }
      return ask({ method: 'POST', url, headers, payload })
    },
    status: (id: string) => ask({ url: `/v1/operations/${id}/status` }),
  }
}

for (const kind of ['alone', 'preset']) {
  t.test(
    `${kind}: an input is valid, with BigInts, or is a 400 with pointers and starts nothing`,
    async (t) => {
      const { begin, done, inputs, post } = await service(t, kind)
      for (const [payload, pointer] of [
        ['{"id":1,"friend_ids":[1,"x"]}', '/friend_ids/1'],
        ['{"id":1,"at":"yesterday"}', '/at'],
        ['[]', ''],
      ] as const) {
        const { errors } = isProblem(t, await post(payload), { status: 400, code: 'validation' })
        t.match(errors, [{ in: 'body', pointer }], payload)
      }
      await t.rejects(begin(), { code: 'validation', statusCode: 400 })
      t.strictSame(inputs, [])
      const large = 9007199254740993n
      await done({ id: `${large}`, other: 5, parent_id: null, friend_ids: [1, large] })
      t.strictSame(inputs, [{ id: large, other: 5, parent_id: null, friend_ids: [1n, large], count: 3 }])
    },
  )
}

t.test('a result has the twins that its schema declares, also of small integers', async (t) => {
  const alone = await service(t)
  const bare = await alone.status((await alone.done({ id: 9007199254740993n })).id)
  t.match(bare.body, '"result":{"id":9007199254740993,"count":3}', 'without `integerTwins` it has none')
  const ends: object[] = []
  const { done, status, post } = await service(t, 'preset', undefined, (app) => {
    app.post('/v1/answers', async ({ body }, reply) =>
      reply.startOperation('work', body, { answer: (end) => ({ ends: ends.push(end) }) }),
    )
  })
  const { id, result: found } = await done({ id: 7, friend_ids: [8], count: 9 })
  t.strictSame(found, { id: 7n, friend_ids: [8n], count: 9 })
  const written = '"result":{"id":7,"id_str":"7","friend_ids":[8],"friend_ids_str":["8"],"count":9}'
  t.match((await status(id)).body, written)
  const payload = '{"id":7,"friend_ids":[8],"count":9}'
  t.match((await post(payload)).body, written)
  t.equal((await post(payload, '/v1/answers')).body, '{"ends":1}')
  t.strictSame(ends, [{ status: 'Succeeded', resource: null, result: found }], '`answer` gets no twins')
})

t.test('schemas may refer to those of the app', async (t) => {
  const payment = { $id: 'payment', type: 'object', required: ['id'], properties: { id: int64 } }
  const input = { type: 'object', properties: { payment: { $ref: 'payment#' } } }
  const { inputs, done, begin } = await service(t, 'preset', { input }, (app) => app.addSchema(payment))
  await done({ payment: { id: 7 } })
  t.strictSame(inputs, [{ payment: { id: 7n } }])
  await t.rejects(begin({}, { payment: {} }), { code: 'validation' })
  for (const schema of [{ type: 'nonsense' }, { $ref: 'nothing#' }])
    await t.rejects(service(t, 'alone', { input: schema }), 'no schema, no boot')
  await t.rejects(service(t, 'alone', { result: { $ref: 'nothing#' } }), TypeError)
})

t.test('a validator of the app validates inputs, and the routes of operations do without', async (t) => {
  class Even {
    safeParse(value: unknown) {
      return Number(value) % 2 === 0 ? { value: Number(value) } : { error: new Error('is odd') }
    }
  }
  const compiler = ({ schema }: { schema: Even }) => schema.safeParse
  const { inputs, done, begin, status } = await service(t, 'alone', { input: new Even() }, (app) =>
    app.setValidatorCompiler<Even>(compiler),
  )
  const { id } = await done('8')
  t.strictSame(inputs, [8])
  await t.rejects(begin({}, 7), { code: 'validation', message: /is odd/ })
  t.equal((await status(id)).status, 200)
})

const objectOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const withId = objectOf({ id: int64 })
const ids = { type: 'array', items: int64 }
const orNull = { type: ['integer', 'null'], format: 'int64' }
const patterns = objectOf({}, { patternProperties: { '^n': int64 } })

t.test('each declared 64-bit integer becomes a BigInt, and gets its twin', async (t) => {
  const rows: readonly (readonly [schema: object, value: unknown, exact: unknown, twinned: unknown])[] = [
    [{ type: 'integer' }, 7, 7, 7],
    [ids, [1, '2', 3n], [1n, 2n, 3n], [1n, 2n, 3n]],
    [withId, { id: `${2n ** 62n}` }, { id: 2n ** 62n }, { id: 2n ** 62n, id_str: `${2n ** 62n}` }],
    [objectOf({ a: withId }), { a: { id: 1 } }, { a: { id: 1n } }, { a: { id: 1n, id_str: '1' } }],
    [objectOf({ id: orNull }), { id: null }, { id: null }, { id: null, id_str: null }],
    [objectOf({ id: { anyOf: [int64, { type: 'null' }] } }), { id: 1 }, { id: 1n }, { id: 1n, id_str: '1' }],
    [withId, { id: 1, id_str: 'own' }, { id: 1n, id_str: 'own' }, { id: 1n, id_str: 'own' }],
    [withId, { other: 1 }, { other: 1 }, { other: 1 }],
    [objectOf({}, { additionalProperties: int64 }), { any: 1 }, { any: 1n }, { any: 1n, any_str: '1' }],
    [patterns, { n1: 1, m1: 1 }, { n1: 1n, m1: 1 }, { n1: 1n, n1_str: '1', m1: 1 }],
    // Other values stay as they are: this function does not validate.
    ...[1.5, 2 ** 60, 'x', 2n ** 63n].map((value) => [int64, value, value, value] as const),
    [withId, [1], [1], [1]],
    [ids, 'x', 'x', 'x'],
  ]
  for (const [schema, value, exact, twinned] of rows) {
    const restore = restorer(schema, {})
    t.strictSame(restore(value, false), exact)
    t.strictSame(restore(value, true), twinned)
  }
})

t.test('an input is what the validator leaves, with all digits', async (t) => {
  const seen: unknown[] = []
  const [text, note] = ['9007199254740995', '9007199254740997']
  const given = { id: 9007199254740993n, text, note, list: [1n, { id: 2n ** 62n }], gone: 1 }
  const valid = validInput((value) => {
    seen.push(structuredClone(value))
    const body = value as Record<string, unknown>
    // As Ajv does with defaults, types and additional members.
    Object.assign(body, { count: 3, text: Number(body.text) })
    return delete body.gone
  }, exactJson(given, false) ?? null)
  t.strictSame(seen, [{ ...given, id: 9007199254740992, list: [1, { id: 2 ** 62 }] }])
  const list = [1, { id: 2n ** 62n }]
  t.strictSame(valid, { id: given.id, text: 9007199254740995n, note, list, count: 3 })
  t.strictSame([validInput(() => ({ value: 7 }), '"7"'), validInput(() => true, null)], [7, null])
  const invalid = { code: 'validation', statusCode: 400, errors: [] }
  t.throws(() => validInput(() => false, '7'), invalid, 'a validator need not say why')
})
