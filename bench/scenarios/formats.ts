import { stringify } from 'csv-stringify/sync'
import { XMLBuilder } from 'fast-xml-parser'
import Fastify, { type FastifyInstance } from 'fastify'
import { type FormatsOptions, formats, serverOptions } from 'fastify-conventions'
import { presetApp } from '../fixtures/apps.js'
import { users, usersSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const payload = Object.freeze({ users })
const headers = { accept: 'application/json' }
const inFormat = (format: string) => ({
  sameBody: false,
  requests: [{ target: `/v1/users?format=${format}`, headers }],
})

/** A list as JSON, XML and CSV: what the other formats cost, and that a route which offers them costs the same for JSON. */
export default loadScenario({
  title: 'GET of a list of fifty items of ten members, as XML and CSV, against JSON',
  baseline: 'bare',
  requests: [{ target: '/v1/users', headers }],
  requestsPerRound: 800,
  sameBody: true,
  bounds: { formats: { max: 1.1 } },
  variants: {
    bare: { about: 'Fastify, JSON', build: () => withList(Fastify()) },
    formats: { about: 'JSON: formats alone, on a route that offers XML and CSV', build: () => withFormats() },
    preset: {
      about: 'JSON: all conventions and formats, on a route that offers XML and CSV',
      build: async () => withList(await presetApp({ formats: {} }), ['xml', 'csv']),
    },
    xml: { about: 'XML: formats alone', ...inFormat('xml'), build: () => withFormats() },
    csv: { about: 'CSV: formats alone', ...inFormat('csv'), build: () => withFormats() },
    xmlByHand: {
      about: 'XML: Fastify, and a handler that calls fast-xml-parser',
      ...inFormat('xml'),
      build: () => withXmlByHand(Fastify()),
    },
    csvByHand: {
      about: 'CSV: Fastify, and a handler that calls csv-stringify',
      ...inFormat('csv'),
      build: () => withCsvByHand(Fastify()),
    },
  },
})

async function withFormats(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(formats, {} satisfies FormatsOptions)
  return withList(app, ['xml', 'csv'])
}

function withList(app: FastifyInstance, produced?: readonly ('xml' | 'csv')[]): FastifyInstance {
  const config = produced === undefined ? {} : { formats: produced }
  app.get('/v1/users', { schema: { response: { 200: usersSchema } }, config }, async () => payload)
  return app
}

function withXmlByHand(app: FastifyInstance): FastifyInstance {
  const builder = new XMLBuilder()
  app.get('/v1/users', async (_request, reply) =>
    reply.type('application/xml').send(builder.build({ users: { user: users } })),
  )
  return app
}

function withCsvByHand(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users', async (_request, reply) =>
    reply.type('text/csv').send(stringify([...users], { header: true })),
  )
  return app
}
