/** The caller that a request counts for. */

import Fastify from 'fastify'
import t from 'tap'
import { callers } from '../../../src/plugins/rate-limit/caller.js'

const ip = '203.0.113.7'

t.test('a key of up to 64 characters is kept, and a longer one becomes a digest', async (t) => {
  const callerOf = (key: string) =>
    callers(
      () => key,
      (ip) => ip,
    )({ ip } as never)
  t.strictSame(callerOf('k'.repeat(64)), { key: `key:${'k'.repeat(64)}`, id: 'k'.repeat(64) })
  t.match(callerOf('k'.repeat(65)), { key: /^key:[\w-]{43}$/, id: 'k'.repeat(65) })
  t.notSame(callerOf(`${'k'.repeat(65)}a`), callerOf(`${'k'.repeat(65)}b`))
})

t.test('an invented address has a bounded key, and is never equal to another kind', async (t) => {
  const callerOf = callers(undefined, (ip) => ip)
  const keyOf = async (address: string | undefined) =>
    (await callerOf({ ip: address, server: Fastify() } as never))?.key
  t.equal(await keyOf('key:admin'), 'address:key:admin')
  t.equal(await keyOf('subject:admin'), 'address:subject:admin')
  t.match(await keyOf('1'.repeat(10_000)), /^address:[\w-]{43}$/)
  t.equal(await keyOf(undefined), 'address:unix')
})
