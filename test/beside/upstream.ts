import Fastify, { type FastifyInstance } from 'fastify'

/** A service behind a proxy: it echoes forms, and gives pages, errors and redirects. */
export function upstreamApp(): FastifyInstance {
  const app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.get('/json', async (_request, reply) => reply.type('application/json').send('{"id":9007199254740993}'))
  app.get('/page', async (_request, reply) =>
    reply.type('text/html').header('etag', '"page"').send('<p>Page</p>'),
  )
  app.get('/error', async (_request, reply) => reply.code(418).send({ error: 'teapot' }))
  app.get('/moved', async (_request, reply) => reply.redirect('/json', 308))
  app.all('/form', async (request) => ({ method: request.method, body: request.body }))
  return app
}
