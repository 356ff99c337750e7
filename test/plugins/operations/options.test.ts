/** Options of the plugin: wrong ones are refused, and others do what they promise. */
import Fastify from 'fastify'
import t from 'tap'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'

const invalid = 'FST_CONV_OPTION_INVALID'

t.test('wrong options are refused at registration, by their name', async (t) => {
  const rows: readonly (readonly [options: unknown, message: RegExp, code?: string])[] = [
    [{ path: '' }, /operations\.path: expected a path/],
    [{ path: 'v1/operations' }, /operations\.path/],
    [{ path: '/v1/:tenant/operations' }, /operations\.path: .*without parameters/],
    [{ path: '/v1/operations?a=b' }, /operations\.path/],
    [{ path: '/v1/arbeitsvorgänge' }, /operations\.path/],
    [{ store: {} }, /operations\.store: expected a store of operations/],
    [{ store: { ...memoryOperationStore(), takeDue: undefined } }, /operations\.store/],
    [{ engine: () => {} }, /operations\.engine: expected an engine/],
    [{ engine: { ...inProcessEngine(), enqueue: undefined } }, /operations\.engine/],
    [{ engine: { ...inProcessEngine(), isShared: true } }, /operations\.store: expected a shared store/],
    [{ identify: 'x-caller' }, /operations\.identify/],
    [{ retention: '12 parsecs' }, /operations\.retention: expected at least a second/],
    [{ lease: 0 }, /operations\.lease/],
    [{ retryAfter: 0 }, /operations\.retryAfter: expected an integer from 1/],
    [{ polls: true }, /operations\.polls: expected an integer/],
    [{ maxLength: 0 }, /operations\.maxLength/],
    [{ drain: 500 }, /operations\.drain/],
    [{ unwind: 500 }, /operations\.unwind/],
    [{ baseUrl: '/api' }, /operations\.baseUrl: expected an http or https URL/],
    [{ now: 0 }, /operations\.now/],
    [{ schedule: 0 }, /operations\.schedule/],
    [{ paths: '/v1' }, /operations\.paths: there is no such option/, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  for (const [options, message, code = invalid] of rows) {
    const app = Fastify()
    await t.rejects(async () => app.register(operations, options as OperationsOptions), { code, message })
  }
})

t.test('path, baseUrl, retryAfter and polls', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const place = { path: '/v2/jobs', baseUrl: 'https://example.com/' }
  await app.register(operations, { ...place, retryAfter: 17, polls: false, drain: 0, unwind: 0 })
  app.operations.define('work', () => new Promise<never>(() => {}))
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/v1/work' })
  t.equal(statusCode, 202)
  t.match(headers, { 'retry-after': '17', location: /^https:\/\/example\.com\/v2\/jobs\/[0-9a-f]{32}$/ })
  const { pathname } = new URL(String(headers.location))
  for (let poll = 0; poll < 200; poll += 1) t.equal((await app.inject(pathname)).statusCode, 200)
})
