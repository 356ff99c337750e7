import type { FastifyInstance } from 'fastify'

/** Clients say that JSON comes where nothing does; for an action that is as good as no body. */
export function takeEmptyBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    function parseAction(request, body, done) {
      if (body === '') done(null, null)
      else parseJson(request, body as string, done)
    },
  )
}
