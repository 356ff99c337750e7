import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { memoryOperationStore } from '../../src/index.js'
import { programArguments } from '../support/program.js'

t.test('a process ends by itself when findings have stopped the boot', async (t) => {
  const program = programArguments(new URL('failed-boot-app.ts', import.meta.url))
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'], timeout: 20_000 })
  const [out, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')])
  t.strictSame([out, code, signal], ['FST_CONV_FINDINGS\n', 0, null])
})

t.test('an app whose boot fails by a convention is closed, with the error of the boot', async (t) => {
  const isAway = async (): Promise<never> => {
    throw new Error('the store is away')
  }
  const store = { ...memoryOperationStore(), check: isAway }
  const failing = [
    ['/v1/Users', { code: 'FST_CONV_FINDINGS' }, {}],
    ['/v1/users', { message: 'the store is away' }, { identify: () => 'a', operations: { store } }],
  ] as const
  for (const [path, error, options] of failing) {
    const app = Fastify()
    const closed = new Promise<void>((resolve) => {
      app.addHook('onClose', async () => resolve())
    })
    await app.register(conventions, options)
    app.operations.define('users.check', async () => {})
    app.get(path, async () => ({}))
    await t.rejects(async () => app.ready(), error)
    await closed
    await app.close()
  }
})

t.test('what fails while it closes does not replace the error of the boot', async (t) => {
  const app = Fastify()
  app.addHook('onClose', () => Promise.reject(new Error('nothing was open')))
  await app.register(conventions)
  app.get('/v1/Users', async () => ({}))
  await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' })
})
