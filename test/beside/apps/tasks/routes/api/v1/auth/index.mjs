import { Type } from '@fastify/type-provider-typebox'

const Credentials = Type.Object({
  username: Type.String({ minLength: 1 }),
  password: Type.String({ minLength: 8 }),
})
const Outcome = Type.Object({ success: Type.Boolean(), message: Type.Optional(Type.String()) })

export default async function auth(app) {
  app.post(
    '/login',
    {
      schema: {
        body: Credentials,
        response: { 200: Outcome, 401: Type.Object({ message: Type.String() }) },
        tags: ['Authentication'],
      },
      config: { rateLimit: { max: 20, timeWindow: '1 minute' } },
    },
    async (request, reply) => {
      const { username, password } = request.body
      const user = app.users.find((one) => one.username === username && one.password === password)
      if (!user) {
        reply.code(401)
        return { message: 'Invalid username or password.' }
      }
      request.session.user = { id: user.id, username }
      await request.session.save()
      return { success: true }
    },
  )

  app.post(
    '/logout',
    { schema: { response: { 200: Outcome }, tags: ['Authentication'] } },
    async (request) => {
      await request.session.destroy()
      return { success: true }
    },
  )
}
