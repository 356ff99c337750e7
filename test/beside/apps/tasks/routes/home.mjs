import { Type } from '@fastify/type-provider-typebox'

export default async function home(app) {
  app.get('/', { schema: { response: { 200: Type.Object({ message: Type.String() }) } } }, async () => ({
    message: 'Welcome to tasks!',
  }))
}
