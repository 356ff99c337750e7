import { Type } from '@fastify/type-provider-typebox'

export const Status = Type.Enum({
  New: 'new',
  InProgress: 'in-progress',
  Completed: 'completed',
  Archived: 'archived',
})

export const Task = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  author_id: Type.Integer(),
  assigned_user_id: Type.Union([Type.Integer(), Type.Null()]),
  status: Status,
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
})

export const Page = Type.Object({ tasks: Type.Array(Task), total: Type.Integer() })

export const PageQuery = Type.Object({
  page: Type.Integer({ minimum: 1, default: 1 }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  status: Type.Optional(Status),
  order: Type.Optional(Type.Enum({ asc: 'asc', desc: 'desc' })),
})

export const NewTask = Type.Object({
  name: Type.String({ minLength: 1 }),
  assigned_user_id: Type.Optional(Type.Integer()),
})

export const Changes = Type.Partial(
  Type.Object({ name: Type.String({ minLength: 1 }), status: Status, assigned_user_id: Type.Integer() }),
)

export const Id = Type.Object({ id: Type.Integer() })

export const Message = Type.Object({ message: Type.String() })
