import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import { presetApp } from '../fixtures/apps.js'
import { withRoutes } from '../fixtures/boot.js'
import { bootScenario } from '../scenario.js'

const openapi = { openapi: '3.1.0', info: { title: 'Bench', version: '1.0.0' } } as const

/** The first OpenAPI document of an app. */
export default bootScenario({
  title: 'app.swagger() of 200 routes with response schemas',
  baseline: 'swagger',
  unit: 'CPU ms per document',
  measures: 'document',
  routes: 200,
  requests: [{ target: '/v1/coll-1s/42' }],
  sameBody: true,
  bounds: { preset: { max: 1.5 } },
  variants: {
    swagger: {
      about: '@fastify/swagger',
      build: async (routes) => {
        const app = Fastify()
        await app.register(swagger, { openapi })
        return withRoutes(app, routes)
      },
    },
    preset: {
      about: '@fastify/swagger, and all conventions with their defaults',
      build: async (routes) => {
        const app = await presetApp()
        await app.register(swagger, { openapi })
        return withRoutes(app, routes)
      },
    },
  },
})
