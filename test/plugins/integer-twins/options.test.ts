/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyContextConfig } from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'

const schema = {
  response: { 200: { type: 'object', properties: { id: { type: 'integer', format: 'int64' } } } },
}

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

t.test('mode off of the plugin or of a route; a route may turn it on', async (t) => {
  const app = Fastify()
  await app.register(integerTwins, { mode: 'off' })
  app.get('/v1/off', { schema }, () => ({ id: 5 }))
  app.get('/v1/on', { schema, config: { integerTwins: { mode: 'enforce' } } }, () => ({ id: 5 }))
  t.equal((await app.inject('/v1/off')).payload, '{"id":5}')
  t.equal((await app.inject('/v1/on')).payload, '{"id":5,"id_str":"5"}')

  const other = Fastify()
  await other.register(integerTwins)
  other.get('/v1/on', { schema }, () => ({ id: 5 }))
  other.get('/v1/off', { schema, config: { integerTwins: false } }, () => ({ id: 5 }))
  t.equal((await other.inject('/v1/on')).payload, '{"id":5,"id_str":"5"}')
  t.equal((await other.inject('/v1/off')).payload, '{"id":5}')
})
