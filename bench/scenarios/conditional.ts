import etag from '@fastify/etag'
import Fastify, { type FastifyInstance } from 'fastify'
import { type CachingRouteOptions, caching, serverOptions } from 'fastify-conventions'
import { presetApp } from '../fixtures/apps.js'
import { users, usersSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const payload = Object.freeze({ users })
const target = '/v1/users'
const tagOf = async (app: FastifyInstance) => String((await withList(app).inject(target)).headers.etag)
const [ofEtag, ofCaching] = [await tagOf(await withEtag()), await tagOf(await withCaching())]
const accept = 'application/json'

/** Asks for what the client has already, by the tag that the server gives it. */
const asked = (tag: string) => ({
  sameBody: false,
  requests: [{ target, headers: { accept, 'if-none-match': tag }, status: 304, answer: '' }],
})

const version = 'v7'
const withVersion: CachingRouteOptions = { validators: () => ({ version }) }

/** What a conditional request costs, with the tag from the bytes and with the tag from the store. */
export default loadScenario({
  title:
    'GET of a list of fifty items: whole, and conditional with the right tag, against the whole of bare Fastify',
  baseline: 'bare',
  requests: [{ target, headers: { accept } }],
  requestsPerRound: 1_500,
  sameBody: true,
  bounds: { cachingValidators: { max: 0.32 }, cachingBytes: { max: 0.99, to: 'etag304' } },
  variants: {
    bare: { about: 'Fastify, 200', build: () => withList(Fastify()) },
    etag: { about: '@fastify/etag, 200', build: async () => withList(await withEtag()) },
    caching: { about: 'caching alone, 200', build: async () => withList(await withCaching()) },
    etag304: {
      about: '@fastify/etag, 304',
      ...asked(ofEtag),
      build: async () => withList(await withEtag()),
    },
    cachingBytes: {
      about: 'caching alone, 304 by the bytes',
      ...asked(ofCaching),
      build: async () => withList(await withCaching()),
    },
    cachingValidators: {
      about: 'caching alone, 304 from validators, before the handler',
      ...asked(`"${version}"`),
      build: async () => withList(await withCaching(), withVersion),
    },
    presetValidators: {
      about: 'all conventions, 304 from validators',
      ...asked(`"${version}"`),
      build: async () => withList(await presetApp(), withVersion),
    },
  },
})

function withList(app: FastifyInstance, own: CachingRouteOptions = {}): FastifyInstance {
  const schema = { response: { 200: usersSchema } }
  app.get(target, { schema, config: { caching: own } } as object, async () => payload)
  return app
}

async function withEtag(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(etag)
  return app
}

async function withCaching(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(caching)
  return app
}
