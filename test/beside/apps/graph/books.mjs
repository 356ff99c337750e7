import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { shelf } from './shelf.mjs'

const Book = z.object({
  id: z.string(),
  title: z.string(),
  authorName: z.string(),
  pageCount: z.int(),
  addedAt: z.iso.datetime(),
})

const NewBook = z.object({ title: z.string().min(1), authorName: z.string(), pageCount: z.int().positive() })

/** The routes beside GraphQL. */
export async function books(app) {
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)

  // Clients read an array.
  app.get(
    '/books',
    {
      schema: { querystring: z.object({ author: z.string().optional() }), response: { 200: z.array(Book) } },
    },
    async ({ query }) =>
      [...shelf.values()].filter(({ authorName }) => authorName === (query.author ?? authorName)),
  )

  app.get(
    '/books/:bookId',
    { schema: { params: z.object({ bookId: z.string() }), response: { 200: Book } } },
    async ({ params }, reply) => shelf.get(params.bookId) ?? reply.code(404).send({ error: 'no such book' }),
  )

  app.post('/books', { schema: { body: NewBook, response: { 201: Book } } }, async ({ body }, reply) => {
    reply.code(201)
    return { ...body, id: '01JGYQ7XZ0AB', addedAt: '2026-01-07T08:00:00Z' }
  })

  app.get('/faults', { schema: { hide: true } }, async () => {
    throw new Error('the shelf is gone')
  })
}
