import { errorCodes, type FastifyInstance } from 'fastify'

/** Lets the routes of a scope take merge patches (RFC 7396 §4); no other method takes a patch for a body. */
export function takeMergePatches(scope: FastifyInstance): void {
  const parseJson = scope.getDefaultJsonParser('error', 'error')
  scope.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parseJson)
}

/**
 * Lets the actions of a scope take an empty body. Clients say that JSON or a form comes where nothing does (`curl -d ''`); for
 * an action that is as good as no body.
 */
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
  // By a pattern, so that no answer names forms among the types that are taken.
  app.addContentTypeParser(
    /^application\/x-www-form-urlencoded/,
    { parseAs: 'string' },
    function parseEmptyForm(_request, body, done) {
      if (body === '') done(null, null)
      else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
    },
  )
}
