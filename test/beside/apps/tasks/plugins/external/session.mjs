import cookie from '@fastify/cookie'
import session from '@fastify/session'
import fp from 'fastify-plugin'

export default fp(
  async function sessions(app, { sessionId }) {
    await app.register(cookie)
    await app.register(session, {
      secret: 'a secret of at least thirty-two characters',
      cookieName: 'session',
      saveUninitialized: false,
      cookie: { secure: false, httpOnly: true },
      ...(sessionId && { idGenerator: sessionId }),
    })
  },
  { name: 'session' },
)
