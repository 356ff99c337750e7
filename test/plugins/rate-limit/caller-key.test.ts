import t from 'tap'
import { callerKeys } from '../../../src/plugins/rate-limit/caller-key.js'
import { rateLimitDefaults } from '../../../src/plugins/rate-limit/options.js'

t.test('a key of up to 64 characters is kept, and a longer one becomes a digest', async (t) => {
  const keyOf = async (key: string): Promise<string> => {
    const callerKey = callerKeys({ ...rateLimitDefaults, key: () => key }, 'GET /v1/a ', (ip) => ip)
    return callerKey({ ip: '203.0.113.7' } as never)
  }
  t.equal(await keyOf('k'.repeat(64)), `GET /v1/a key:${'k'.repeat(64)}`)
  t.match(await keyOf('k'.repeat(65)), /^GET \/v1\/a key:[\w-]{43}$/)
  t.not(await keyOf(`${'k'.repeat(65)}a`), await keyOf(`${'k'.repeat(65)}b`))
})
