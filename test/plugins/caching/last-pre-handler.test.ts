import type { RouteOptions } from 'fastify'
import t from 'tap'
import { addLastPreHandler } from '../../../src/plugins/caching/last-pre-handler.js'

type Hook = (request: unknown, reply: unknown, next: () => void) => void

const hooks: Readonly<Record<'first' | 'second' | 'last', Hook>> = {
  first: (_request, _reply, next) => next(),
  second: (_request, _reply, next) => next(),
  last: (_request, _reply, next) => next(),
}
const { first, second, last } = hooks

function routeWith(preHandler: unknown): RouteOptions & { preHandler?: unknown } {
  const route = { method: 'GET', url: '/', handler: () => 1 } as RouteOptions & { preHandler?: unknown }
  if (preHandler !== undefined) route.preHandler = preHandler as never
  return route
}

t.test('it comes after those of the route, one, several or none', async (t) => {
  for (const [before, after] of [
    [undefined, [last]],
    [first, [first, last]],
    [
      [first, second],
      [first, second, last],
    ],
  ] as const) {
    const route = routeWith(before)
    addLastPreHandler(route, last)
    t.strictSame(route.preHandler, after)
  }
})

t.test('and after those that are added later, whichever way', async (t) => {
  const ways: Readonly<Record<string, (route: { preHandler?: unknown }) => void>> = {
    push: (route) => void (route.preHandler as Hook[]).push(second),
    append: (route) => {
      route.preHandler = [...(route.preHandler as Hook[]), second]
    },
    concat: (route) => {
      route.preHandler = (route.preHandler as Hook[]).concat(second)
    },
  }
  for (const [name, add] of Object.entries(ways)) {
    const route = routeWith(first)
    addLastPreHandler(route, last)
    add(route)
    t.strictSame(route.preHandler, [first, second, last], name)
    t.strictSame(route.preHandler, [first, second, last], `${name}, read again`)
  }
})

t.test('who replaces all hooks, with a list or with one, does not get rid of it', async (t) => {
  for (const replaced of [[second], second, undefined]) {
    const route = routeWith(first)
    addLastPreHandler(route, last)
    route.preHandler = replaced as never
    t.strictSame(route.preHandler, replaced === undefined ? [last] : [second, last])
  }
})

t.test('a copy of the route has a list of its own', async (t) => {
  const route = routeWith(first)
  addLastPreHandler(route, last)
  const copy = { ...route }
  ;(copy.preHandler as Hook[]).push(second)
  t.strictSame(copy.preHandler, [first, last, second])
  t.strictSame(route.preHandler, [first, second, last])
})
