import { join } from 'node:path'
import files from '@fastify/static'

export const autoConfig = { root: join(import.meta.dirname, '../../public'), prefix: '/public/' }

export default files
