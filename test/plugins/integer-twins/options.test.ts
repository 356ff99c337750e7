/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyContextConfig } from 'fastify'
import t from 'tap'
import { type IntegerTwinsOptions, integerTwins } from '../../../src/index.js'

const schema = {
  response: { 200: { type: 'object', properties: { id: { type: 'integer', format: 'int64' } } } },
}

t.test('invalid options are refused at registration, by their name', async (t) => {
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ mode: 'warn' }, 'FST_CONV_OPTION_INVALID', /integerTwins\.mode.*'enforce', 'report', 'off'.*'warn'/],
    [{ mode: true }, 'FST_CONV_OPTION_INVALID', /integerTwins\.mode/],
    [{ suffix: '_s' }, 'FST_CONV_OPTION_UNKNOWN', /integerTwins\.suffix.*mode/],
  ]
  for (const [options, code, message] of wrong) {
    await t.rejects(async () => Fastify().register(integerTwins, options as IntegerTwinsOptions), {
      code,
      message,
    })
  }
})

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  const wrong: readonly (readonly [config: unknown, code: string])[] = [
    [true, 'FST_CONV_OPTION_INVALID'],
    [null, 'FST_CONV_OPTION_INVALID'],
    [{ mode: 'warn' }, 'FST_CONV_OPTION_INVALID'],
    [{ enabled: false }, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  for (const [config, code] of wrong) {
    const options = { schema, config: { integerTwins: config as IntegerTwinsOptions } }
    const message = /GET \/v1\/users\/:id config\.integerTwins/
    t.throws(() => app.get('/v1/users/:id', options, () => ({})), { code, message }, JSON.stringify(config))
  }
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

t.test('twice in one context is an error', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  await t.rejects(async () => app.register(integerTwins), { code: 'FST_CONV_ALREADY_REGISTERED' })
})

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
