// Zod, by fastify-type-provider-zod. npx tsx examples/zod.ts
import Fastify from 'fastify'
import conventions, { ProblemError, serverOptions } from 'fastify-conventions'
import { Int64 } from 'fastify-conventions/zod'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'

const app = Fastify({ ...serverOptions(), logger: true }).withTypeProvider<ZodTypeProvider>()
app.setValidatorCompiler(validatorCompiler)
app.setSerializerCompiler(serializerCompiler)
await app.register(conventions)

const NewUser = z.object({ name: z.string().min(1).max(200), email: z.email() })
const User = NewUser.extend({ id: Int64() })
const users = new Map<bigint, z.infer<typeof User>>()

app.post('/v1/users', { schema: { body: NewUser, response: { 201: User } } }, async (request, reply) => {
  for (const { email } of users.values()) {
    if (email !== request.body.email) continue
    throw new ProblemError('already-exists', { status: 409, detail: 'Another user has this e-mail address' })
  }
  const user = { id: 2n ** 53n + BigInt(users.size) + 1n, ...request.body }
  users.set(user.id, user)
  return reply.code(201).header('location', `/v1/users/${user.id}`).send(user)
})

app.get(
  '/v1/users/:id',
  { schema: { params: z.object({ id: Int64() }), response: { 200: User } } },
  async ({ params: { id } }) => {
    const user = users.get(id)
    if (user === undefined) throw new ProblemError('not-found', { detail: `There is no user ${id}` })
    return user
  },
)

await app.listen({ port: Number(process.env.PORT ?? 3000) })
