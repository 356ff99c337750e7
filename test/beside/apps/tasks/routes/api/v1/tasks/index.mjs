import { Type } from '@fastify/type-provider-typebox'

const Status = Type.Enum({
  New: 'new',
  InProgress: 'in-progress',
  Completed: 'completed',
  Archived: 'archived',
})
const Task = Type.Object({
  id: Type.Integer(),
  name: Type.String({ minLength: 1 }),
  author_id: Type.Integer(),
  assigned_user_id: Type.Union([Type.Integer(), Type.Null()]),
  status: Status,
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
})
const Page = Type.Object({ tasks: Type.Array(Task), total: Type.Integer() })
const PageQuery = Type.Object({
  page: Type.Integer({ minimum: 1, default: 1 }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  status: Type.Optional(Status),
  order: Type.Optional(Type.Enum({ asc: 'asc', desc: 'desc' })),
})
const NewTask = Type.Pick(Task, ['name'])
const Changes = Type.Partial(Type.Pick(Task, ['name', 'status', 'assigned_user_id']))
const Id = Type.Pick(Task, ['id'])
const Message = Type.Object({ message: Type.String() })
const tags = ['Tasks']

export default async function tasks(app) {
  app.get('/', { schema: { querystring: PageQuery, response: { 200: Page }, tags } }, async (request) =>
    app.tasks.page(request.query),
  )

  app.get(
    '/:id',
    { schema: { params: Id, response: { 200: Task, 404: Message }, tags } },
    async (request, reply) => app.tasks.find(request.params.id) ?? reply.notFound('Task not found'),
  )

  app.post('/', { schema: { body: NewTask, response: { 201: Id }, tags } }, async (request, reply) => {
    reply.code(201)
    return app.tasks.create({ ...request.body, author_id: request.session.user.id })
  })

  app.patch(
    '/:id',
    { schema: { params: Id, body: Changes, response: { 200: Task, 404: Message }, tags } },
    async (request, reply) => {
      const task = app.tasks.find(request.params.id)
      return task ? app.tasks.update(task, request.body) : reply.notFound('Task not found')
    },
  )

  app.get('/download/csv', { schema: { tags } }, async (_request, reply) => {
    const rows = app.tasks.all().map(({ id, name }) => `${id},${name}\n`)
    reply.header('Content-Disposition', 'attachment; filename="tasks.csv"').type('text/csv')
    return `id,name\n${rows.join('')}`
  })

  // What a broken query would do.
  app.get('/statistics', { schema: { hide: true } }, async () => {
    throw new Error('relation "tasks" does not exist')
  })
}
