import Fastify from 'fastify'
import conventions from 'fastify-conventions'

const app = Fastify()
await app.register(conventions)
app.operations.define('jobs.run', async () => ({}))
await app.listen({ host: '127.0.0.1', port: 0 })
await app.close()
console.log('closed')
