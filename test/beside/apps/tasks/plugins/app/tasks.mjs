import fp from 'fastify-plugin'

/** Tasks and users in memory. */
export default fp(async function repositories(app, { now = () => new Date() }) {
  const at = { created_at: '2026-01-05T08:00:00.000Z', updated_at: '2026-01-05T08:00:00.000Z' }
  const tasks = [
    { id: 1, name: 'Write the minutes', author_id: 1, assigned_user_id: 2, status: 'new', ...at },
    { id: 2, name: 'Order coffee', author_id: 2, assigned_user_id: null, status: 'in-progress', ...at },
    { id: 3, name: 'Water the plants', author_id: 1, assigned_user_id: 1, status: 'completed', ...at },
  ]

  app.decorate('users', [
    { id: 1, username: 'ada', password: 'Password123$' },
    { id: 2, username: 'bo', password: 'Password123$' },
  ])
  app.decorate('tasks', {
    page: ({ page, limit, order, status }) => {
      const found = tasks.filter((task) => status === undefined || task.status === status)
      if (order === 'desc') found.reverse()
      return { tasks: found.slice((page - 1) * limit, page * limit), total: found.length }
    },
    find: (id) => tasks.find((task) => task.id === id),
    create: (values) => {
      const time = now().toISOString()
      const ofTask = { assigned_user_id: null, status: 'new', created_at: time, updated_at: time }
      const task = { id: tasks.length + 1, ...ofTask, ...values }
      tasks.push(task)
      return task
    },
    update: (task, values) => Object.assign(task, values, { updated_at: now().toISOString() }),
    all: () => tasks,
  })
})
