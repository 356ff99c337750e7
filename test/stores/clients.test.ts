/** What stores do with the answers and the errors of the clients of Redis and PostgreSQL. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { poolOf, tableError, withRetries } from '../../src/stores/postgres-client.js'
import { checkedReply, evictionPolicy, redisScript } from '../../src/stores/redis-client.js'

const coded = (message: string, code?: string) => Object.assign(new Error(message), code && { code })

t.test('a script runs by its digest; its source is sent if the server does not have it', async (t) => {
  const source = 'return ARGV[1]'
  const sha = createHash('sha1').update(source).digest('hex')
  const run = async (error: unknown) => {
    const calls: unknown[][] = []
    const client = {
      async evalsha(...given: unknown[]) {
        calls.push(given)
        if (error !== null) throw error
        return 'known'
      },
      async eval(...given: unknown[]) {
        calls.push(given)
        return 'sent'
      },
    }
    return { answer: await redisScript(source)(client, ['a', 'b'], [1, 'x']), calls }
  }
  const rest = [2, 'a', 'b', 1, 'x']
  t.strictSame(await run(null), { answer: 'known', calls: [[sha, ...rest]] })
  const missing = new Error('NOSCRIPT No matching script')
  const both = [
    [sha, ...rest],
    [source, ...rest],
  ]
  t.strictSame(await run(missing), { answer: 'sent', calls: both })
  for (const error of [new Error('OOM command not allowed'), new Error('no NOSCRIPT'), 'NOSCRIPT', undefined])
    await run(error).then(
      () => t.fail(`${error}`),
      (thrown) => t.equal(thrown, error),
    )
})

t.test(
  'what Redis answers is thrown as it is; without an answer, the error says where to look',
  async (t) => {
    await t.resolves(checkedReply(Promise.resolve('PONG')))
    const answered = Object.assign(new Error('NOAUTH'), { command: { name: 'ping' } })
    await t.rejects(checkedReply(Promise.reject(answered)), answered)
    const message = (reason: string) =>
      `Redis does not answer (is it up, and the client connected?): ${reason}`
    for (const [cause, reason] of [
      [new Error('closed'), 'closed'],
      [coded('', 'ECONNREFUSED'), 'ECONNREFUSED'],
      ['gone', 'gone'],
    ] as const)
      await t.rejects(checkedReply(Promise.reject(cause)), { message: message(reason), cause })
  },
)

t.test('the eviction policy is that of a server with limited memory', async (t) => {
  for (const [info, policy] of [
    ['maxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n', 'allkeys-lru'],
    ['used_memory:1\r\nmaxmemory:1\r\nmaxmemory_policy:noeviction', 'noeviction'],
    ['maxmemory:0\r\nmaxmemory_policy:allkeys-lru', null],
    ['total_maxmemory:5\r\nmaxmemory_policy:allkeys-lru', null],
    ['maxmemory:5\r\nold_maxmemory_policy:allkeys-lru', null],
    ['maxmemory:5', null],
    ['', null],
  ] as const) {
    const client = { info: async (section: string) => (section === 'memory' ? info : '') }
    t.equal(await evictionPolicy(client), policy, info)
  }
  t.equal(await evictionPolicy({ info: () => Promise.reject(new Error('NOPERM')) }), null)
})

t.test('an error of class 42 says what to do about the table; others stay as they are', async (t) => {
  const remedy =
    'Run migrate() of the store, or the SQL in its property migration, as the owner of the table; a right is granted by GRANT'
  const missing = coded('there is no relation', '42P01')
  const told = { message: `the table keys cannot be used: there is no relation. ${remedy}`, cause: missing }
  t.match(tableError('keys', missing), told)
  for (const cause of [coded('refused', 'ECONNREFUSED'), coded('x', '08P42'), coded('none'), '42P01', null])
    t.equal(tableError('keys', cause), cause)
})

t.test('a statement that PostgreSQL has rolled back runs again, ten times at most', async (t) => {
  const failing = (error: unknown, failures: number) => {
    let runs = 0
    const run = async () => {
      runs += 1
      if (runs <= failures) throw error
      return runs
    }
    return withRetries(run).then(
      (result) => `returns ${result}`,
      (thrown) => `${thrown === error ? 'throws' : 'throws another'} after ${runs}`,
    )
  }
  for (const [code, failures, expected] of [
    ['40001', 0, 'returns 1'],
    ['40001', 9, 'returns 10'],
    ['40P01', 3, 'returns 4'],
    ['40P01', 10, 'throws after 10'],
    ['40002', 1, 'throws after 1'],
  ] as const)
    t.equal(await failing(coded('rolled back', code), failures), expected, code)
  for (const error of ['40001', undefined]) t.equal(await failing(error, 1), 'throws after 1')
})

t.test('a store needs a pool', async (t) => {
  const pool = { query: async () => ({ rows: [], rowCount: 0 }) }
  t.equal(poolOf('pool', pool), pool)
  t.throws(() => poolOf('pool', {}), { message: /a pool with query\(\), such as that of pg/ })
})
