import { parse } from 'node:querystring'
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify'
import { parsesType } from '../../fastify/internals.js'
import { markOf } from '../../fastify/raw-request.js'
import { formType } from './override-post.js'

/**
 * Parses the forms that are performed as another method, in the contexts that take no forms. All other forms are refused
 * there as before (415): a route that takes JSON alone does not take what any page of any site can send.
 *
 * A parser of the app's own wins, whenever it was added.
 */
export function addFormParser(app: FastifyInstance): void {
  const contexts = new Set<FastifyInstance>([app])
  app.addHook('onRoute', function noteContext() {
    contexts.add(this)
  })
  app.addHook('onReady', function completeParsers(done) {
    for (const context of contexts) {
      // By a pattern: the type itself stays unknown, and no 415 says that it is taken.
      if (!parsesType(context, formType))
        context.addContentTypeParser(pattern, { parseAs: 'string' }, parseOverriding)
    }
    done()
  })
}

const pattern = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

function parseOverriding(
  request: FastifyRequest,
  form: string | Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  const mark = markOf(request)
  if (mark?.kind !== 'performed' || !mark.byForm) done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  // Its limit on fields would drop the others without a word; the limit of the body is one on them too.
  else done(null, parse(String(form), '&', '=', { maxKeys: 0 }))
}
