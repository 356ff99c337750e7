import multipart from '@fastify/multipart'

export const autoConfig = { limits: { fileSize: 1024, files: 1 } }

export default multipart
