module.exports = async (fastify) => {
  fastify.get('/', async () => 'this is an example')
}
