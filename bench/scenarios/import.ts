import { importScenario } from '../scenario.js'

const peers = ['@fastify/helmet', '@fastify/cors', '@fastify/rate-limit', '@fastify/etag']

/** What the modules cost a process that starts, such as a function that is invoked for the first time. */
export default importScenario({
  title: 'loading the modules, in a fresh process',
  baseline: 'fastify',
  bounds: { conventions: { max: 1.4 } },
  variants: {
    fastify: { about: 'fastify', modules: ['fastify'] },
    peers: { about: 'fastify, @fastify/helmet, cors, rate-limit and etag', modules: ['fastify', ...peers] },
    caching: {
      about: 'fastify and one convention by its subpath, fastify-conventions/caching',
      modules: ['fastify', 'fastify-conventions/caching'],
    },
    conventions: { about: 'fastify and fastify-conventions', modules: ['fastify', 'fastify-conventions'] },
    conventionsCommonJs: {
      about: 'the same by require()',
      modules: ['fastify', 'fastify-conventions'],
      isCommonJs: true,
    },
  },
})
