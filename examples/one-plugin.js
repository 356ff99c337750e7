// One convention alone, in one context of a service that keeps everything else as it is.
// node examples/one-plugin.js
import Fastify from 'fastify'
import { caching } from 'fastify-conventions/caching'

const app = Fastify({ logger: true })
const prices = { tea: 450, mug: 1290 }

app.get('/prices.json', async () => prices)

await app.register(
  async function versioned(scope) {
    await scope.register(caching)
    // The handler is the same. Its responses have an ETag, and If-None-Match gets a 304.
    scope.get(
      '/prices',
      { config: { caching: { cacheControl: { public: true, maxAge: 60 } } } },
      async () => prices,
    )
  },
  { prefix: '/v1' },
)

await app.listen({ port: Number(process.env.PORT ?? 3000) })
