/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyContextConfig } from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'

t.test('the types know the options', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  const add = (config: FastifyContextConfig): void => void app.get('/v1/users', { config }, () => 1)
  const wrong = { code: 'FST_CONV_OPTION_INVALID' }
  // @ts-expect-error: no such mode
  t.throws(() => add({ integerTwins: { mode: 'warn' } }), wrong)
  // @ts-expect-error: on is what it is without a word
  t.throws(() => add({ integerTwins: true }), wrong)
})
