/** Random requests: each is answered, and none by a fault of the server. */
import fc from 'fast-check'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { items } from '../../examples/demo-server/collections/index.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { isThorough } from '../support/thorough.js'
import { faultyTwin, type Json, parseExact, serve, walk, writeExact } from './client.js'
import { onDatabase } from './databases.js'
import { adminToken } from './issuer.js'
import { collectionNames as names, sampleOf } from './samples.js'

const count = isThorough ? 10_000 : 1_000

const members = Object.values(items).flatMap(({ properties }) => Object.keys(properties))
const words = <Word extends string>(text: string) => fc.constantFrom(...(text.split(' ') as Word[]))
const anyText = fc.string({ unit: 'binary', maxLength: 20 })
const encoded = (text: fc.Arbitrary<string>) => text.map((any) => encodeURIComponent(any.toWellFormed()))

// Mostly of an item that is there; some lie before the first.
const likelyId = fc.integer({ min: -2, max: 60 }).map((index) => firstId + BigInt(index))
const longInteger = fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n })
const id = fc.oneof(
  { weight: 3, arbitrary: likelyId.map(String) },
  longInteger.map(String),
  fc.nat({ max: 400 }).map((length) => '9'.repeat(length)),
  words('abc 1.5 1e400 -0 %D9%A3 9223372036854775807 9223372036854775808 %31 1%00'),
)
const field = fc.oneof(fc.constantFrom(...members), words('* . items. items.sku __proto__ a.b.c.d.e'))
const parameter = fc
  .oneof(
    fc.tuple(
      words('limit before_id before_time after_id include_total status user_id email'),
      fc.oneof(id, words('true paid a@b.cd %00 %ff -1 1e9 1,2 2026-01-01T00:00:00Z'), encoded(anyText)),
    ),
    fc.tuple(encoded(anyText), id),
    fc.tuple(fc.constant('fields'), encoded(fc.array(field, { maxLength: 4 }).map(String))),
  )
  .map((pair) => pair.join('='))
// Other paths are those of test/random-requests.test.ts.
const target = fc
  .tuple(
    fc.constantFrom(...names),
    fc.option(fc.oneof(id, encoded(anyText))),
    fc.array(parameter, { maxLength: 4 }),
  )
  .map(([name, id, query]) => `/v1/${name}${id === null ? '' : `/${id}`}?${query.join('&')}`)

const oddValue = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  anyText,
  likelyId,
  longInteger,
  fc.constantFrom(null, '\u0000', '\ud800', 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, [], {}),
)
/** The right body of a collection, but for some members that are likely, wrong, or unknown. */
const almostRight = fc
  .tuple(fc.constantFrom(...Object.entries(sampleOf)), fc.nat({ max: 500 }))
  .chain(([[name, sample], number]) => {
    const body: Json = (sample as (...ids: unknown[]) => Json)(firstId, firstId + 1n)
    if ('email' in body) body.email = `person.${number}@example.com`
    const fields = Object.keys(body)
    const twins = [...fields, 'id'].filter((field) => field.endsWith('id')).map((field) => `${field}_str`)
    const changes = fc.oneof(
      fc.constant({}),
      fc.dictionary(fc.constantFrom(...fields), likelyId, { maxKeys: 2 }),
      fc.dictionary(fc.constantFrom(...twins), likelyId.map(String), { maxKeys: 2 }),
      fc.dictionary(fc.constantFrom(...fields, ...twins, 'id', '__proto__', 'x'), oddValue, { maxKeys: 3 }),
    )
    return changes.map((odd) => ({ name, text: writeExact({ ...body, ...odd }) }))
  })
const nonsense = fc.record({
  name: fc.constantFrom(...names),
  text: fc.oneof(fc.json(), anyText, words('[ 1e400 {"a":1}}')),
})
const write = fc
  .record({
    method: words('POST POST PUT PATCH'),
    body: fc.oneof({ weight: 4, arbitrary: almostRight }, nonsense),
    id: fc.oneof({ weight: 4, arbitrary: likelyId.map(String) }, id),
    type: fc.oneof(
      { weight: 12, arbitrary: fc.constant('application/json') },
      fc.constantFrom('text/plain', 'application/json; charset=utf-16', 'a', 'multipart/form-data'),
    ),
  })
  .map(({ method, body: { name, text }, id, type }) => ({
    method,
    url: method === 'POST' ? `/v1/${name}` : `/v1/${name}/${id}`,
    headers: { 'content-type': type },
    payload: text,
  }))

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database)
  const authorization = `Bearer ${await adminToken()}`
  const send = ({ headers, ...request }: InjectOptions) =>
    client.app.inject({ ...request, headers: { authorization, ...headers } })

  await t.test(`${count} random paths`, async (t) => {
    const method = words('GET GET GET HEAD POST PUT PATCH DELETE OPTIONS TRACE')
    await hold(t, fc.record({ method, url: target }), send)
  })

  await t.test(`${count} random bodies`, (t) => hold(t, write, send))

  await t.test('after these requests, all lists can be read to the end', async (t) => {
    for (const name of names) {
      const statuses = (await walk(client, `/v1/${name}?limit=200`)).map(({ status }) => status)
      t.strictSame([...new Set(statuses)], [200], name)
    }
  })
})

/** Sends random requests; each is answered, and answered well. */
async function hold<T>(
  t: Test,
  requests: fc.Arbitrary<T>,
  send: (request: T) => Promise<LightMyRequestResponse>,
) {
  const statuses = new Set<number>()
  const property = fc.asyncProperty(requests, async (request) => {
    const { statusCode, headers, body } = await send(request)
    statuses.add(statusCode)
    const type = String(headers['content-type'])
    const fault = faultOf(statusCode, type, body)
    if (fault !== null) throw new Error(`${fault}: ${statusCode} ${type} ${body.slice(0, 300)}`)
  })
  const outcome = await fc.check(property, { numRuns: count })
  t.notOk(outcome.failed, fc.defaultReportMessage(outcome) ?? 'all are answered well')
  for (const status of [200, 400]) t.ok(statuses.has(status), 'the requests are as random as they should be')
}

function faultOf(status: number, type: string, body: string): string | null {
  if (status >= 500) return 'a fault of the server'
  if (status < 400) {
    const isJson = type.startsWith('application/json') && body !== ''
    return isJson && faultyTwin(parseExact(body)) !== null ? 'an integer without a true twin' : null
  }
  if (!type.startsWith('application/problem+json')) return 'no problem document'
  // HEAD has none.
  if (body === '') return null
  const document = JSON.parse(body) as { status?: unknown; code?: unknown; detail?: unknown }
  const isProblem = document.status === status && /^[a-z]+(-[a-z]+)*$/.test(String(document.code))
  return isProblem && typeof document.detail === 'string' ? null : 'a bad problem document'
}
