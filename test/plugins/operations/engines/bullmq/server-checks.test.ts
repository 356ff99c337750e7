import t from 'tap'
import { checkRedis } from '../../../../../src/plugins/operations/engines/bullmq/server-checks.js'

function saying(version: string, policy: string) {
  return { info: async () => `# Server\r\nredis_version:${version}\r\nmaxmemory_policy:${policy}\r\n` }
}

t.test('a server that BullMQ is content with is not warned of', async (t) => {
  for (const version of ['6.2.0', '7.0.15', '8.2.1']) {
    t.strictSame(await checkRedis(saying(version, 'noeviction')), { isWarnedOf: false }, version)
  }
})

t.test('one that it would warn of works', async (t) => {
  t.strictSame(await checkRedis(saying('6.0.16', 'noeviction')), { isWarnedOf: true })
  t.strictSame(await checkRedis(saying('5.0.14', 'noeviction')), { isWarnedOf: true })
  t.strictSame(await checkRedis(saying('7.0.15', 'volatile-ttl')), { isWarnedOf: true })
})

t.test('one that is too old, or throws jobs away, is refused', async (t) => {
  await t.rejects(checkRedis(saying('4.0.9', 'noeviction')), /needs Redis 5 or later; it is 4\.0\.9/)
  await t.rejects(
    checkRedis(saying('7.0.15', 'allkeys-lfu')),
    /set maxmemory-policy to noeviction; it is allkeys-lfu/,
  )
})

t.test('one that does not say is taken as it is', async (t) => {
  const forbidden = { info: () => Promise.reject(new Error('NOPERM')) }
  t.strictSame(await checkRedis(forbidden), { isWarnedOf: true })
  t.strictSame(await checkRedis({ info: async () => '' }), { isWarnedOf: true })
})
