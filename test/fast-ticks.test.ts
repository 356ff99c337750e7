// Own process: it is about an object that the whole process keeps
/** Ticks of Node.js stay fast: one of their objects is kept alive, and nothing else changes. */
import { createHook } from 'node:async_hooks'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../src/index.js'

const shared = globalThis as unknown as Record<symbol, readonly object[] | undefined>
const kept = (): number => shared[Symbol.for('fastify-conventions.tick')]?.length ?? 0

t.test('nothing is kept with fastTicks: false', async (t) => {
  const app = Fastify(serverOptions({ fastTicks: false }))
  await app.register(conventions, { fastTicks: false })
  t.equal(kept(), 0)
  await app.close()
})

t.test('the preset keeps one object for the process, and serverOptions() no other', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  t.equal(kept(), 1)
  serverOptions()
  await new Promise((resolve) => process.nextTick(resolve))
  t.equal(kept(), 1, 'no async hook goes on')
  await app.close()
})

t.test('serverOptions() alone keeps it, and async hooks of the app see what they saw', async (t) => {
  delete shared[Symbol.for('fastify-conventions.tick')]
  const types: string[] = []
  const hook = createHook({ init: (_id, type) => void types.push(type) }).enable()
  t.teardown(() => hook.disable())
  serverOptions()
  t.equal(kept(), 1)
  types.length = 0
  process.nextTick(() => undefined)
  t.strictSame(types, ['TickObject'])
})

t.test('says whether this Node.js still needs it', async (t) => {
  const program = fileURLToPath(new URL('../bench/next-tick.mjs', import.meta.url))
  for (const args of [[], ['kept']]) {
    const line = execFileSync(process.execPath, [program, ...args], { encoding: 'utf8' })
    const [, before, after] = /: (\d+) ns per tick, after collections (\d+) ns/.exec(line) ?? []
    t.ok(Number(before) > 0 && Number(after) > 0, line)
    t.comment(
      `${args[0] ?? 'without'}: ${Number(after) > 2 * Number(before) ? 'slower' : 'as fast'}: ${line}`,
    )
  }
})
