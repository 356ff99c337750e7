import rateLimit from '@fastify/rate-limit'

export const autoConfig = {
  max: 5000,
  timeWindow: '1 minute',
  errorResponseBuilder: (_request, { statusCode, max }) => ({
    statusCode,
    message: `More than ${max} requests in a minute`,
  }),
}

export default rateLimit
