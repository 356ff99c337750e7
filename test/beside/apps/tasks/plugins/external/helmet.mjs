import helmet from '@fastify/helmet'

export const autoConfig = { referrerPolicy: { policy: 'same-origin' } }

export default helmet
