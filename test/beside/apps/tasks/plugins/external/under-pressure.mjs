import underPressure from '@fastify/under-pressure'

export const autoConfig = {
  maxRssBytes: 8_000_000_000,
  message: 'The server is under pressure, retry later!',
  retryAfter: 50,
  exposeStatusRoute: '/health',
}

export default underPressure
