// All conventions, in a service with one collection. node examples/quick-start.js
import Fastify from 'fastify'
import conventions, { ProblemError, serverOptions } from 'fastify-conventions'

const app = Fastify({ ...serverOptions(), logger: true })
await app.register(conventions)

const books = new Map()
let lastId = 9_007_199_254_740_992n // From here on, a Number loses digits.

const text = { type: 'string', minLength: 1, maxLength: 200 }
const id = { type: 'integer', format: 'int64' }
const time = { type: 'string', format: 'date-time' }
const Book = {
  type: 'object',
  required: ['id', 'title', 'created_at'],
  properties: { id, title: text, created_at: time },
}
const NewBook = {
  type: 'object',
  required: ['title'],
  additionalProperties: false,
  properties: { title: text },
}
const Books = { type: 'object', required: ['books'], properties: { books: { type: 'array', items: Book } } }
const params = { type: 'object', required: ['id'], properties: { id } }

app.post('/v1/books', { schema: { body: NewBook, response: { 201: Book } } }, async (request, reply) => {
  lastId += 1n
  const book = { id: lastId, title: request.body.title, created_at: new Date().toISOString() }
  books.set(book.id, book)
  return reply.code(201).header('location', `/v1/books/${book.id}`).send(book)
})

app.get(
  '/v1/books',
  { schema: { response: { 200: Books } }, config: { lists: { by: ['id'], total: false } } },
  async (request, reply) => {
    const { fetch, beforeId, afterId } = request.page
    const rows = [...books.values()].filter((book) =>
      afterId === undefined ? beforeId === undefined || book.id < beforeId : book.id > afterId,
    )
    if (afterId === undefined) rows.reverse()
    return reply.list(rows.slice(0, fetch))
  },
)

app.get('/v1/books/:id', { schema: { params, response: { 200: Book } } }, async (request) => {
  const book = books.get(request.params.id)
  if (book === undefined)
    throw new ProblemError('not-found', { detail: `There is no book ${request.params.id}` })
  return book
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
