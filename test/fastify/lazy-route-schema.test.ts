import type { FastifySchema, RouteOptions } from 'fastify'
import { test } from 'tap'
import { completeAtEnd, completeWhenRead } from '../../src/fastify/lazy-route-schema.js'

const schema: FastifySchema = { response: { 200: { type: 'object' } } }

function routeWith(own: FastifySchema | undefined): RouteOptions {
  return { method: 'GET', url: '/', handler: () => ({}), ...(own === undefined ? {} : { schema: own }) }
}

test('a schema is completed once, when it is first read, by all steps in their order', async (t) => {
  const route = routeWith(schema)
  const steps: string[] = []
  const step = (name: string) => (before: FastifySchema) => {
    steps.push(name)
    return { ...before, [name]: Object.keys(before) }
  }
  completeWhenRead(route, step('body'))
  completeWhenRead(route, step('headers'))
  t.strictSame(steps, [], 'the schema has not been read yet')
  const expected = { ...schema, body: ['response'], headers: ['response', 'body'] }
  t.strictSame(route.schema, expected)
  t.equal(route.schema, route.schema)
  t.strictSame(steps, ['body', 'headers'])
  t.strictSame({ ...route }.schema, expected, 'a copy has it too')
  t.strictSame(schema, { response: { 200: { type: 'object' } } }, 'what the app wrote stays')
})

test('a step that is added after a read applies to the next read', async (t) => {
  const route = routeWith(schema)
  completeWhenRead(route, (before) => ({ ...before, body: true }))
  t.match(route.schema, { body: true })
  completeWhenRead(route, (before) => ({ ...before, headers: true }))
  t.strictSame(route.schema, { ...schema, body: true, headers: true })
})

test('a schema that replaces another one is completed; a missing schema is an empty one', async (t) => {
  const route = routeWith(schema)
  completeWhenRead(route, (before) => ({ ...before, body: true }))
  route.schema = { params: true }
  t.strictSame(route.schema, { params: true, body: true })

  const bare = routeWith(undefined)
  completeWhenRead(bare, (before) => ({ ...before, body: true }))
  t.strictSame(bare.schema, { body: true })
})

test('the last completion runs after all others, and again if one is added', async (t) => {
  const route = routeWith({})
  completeAtEnd(route, (before) => ({ ...before, querystring: Object.keys(before).join() }))
  completeWhenRead(route, (before) => ({ ...before, body: true }))
  t.strictSame(route.schema, { body: true, querystring: 'body' })
  completeWhenRead(route, (before) => ({ ...before, params: true }))
  t.strictSame(route.schema, { body: true, params: true, querystring: 'body,params' })
})
