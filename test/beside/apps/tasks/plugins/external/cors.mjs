import cors from '@fastify/cors'

export const autoConfig = {
  origin: ['https://tasks.example'],
  credentials: true,
  methods: ['GET', 'POST', 'PATCH', 'DELETE'],
}

export default cors
