import type { FastifyInstance } from 'fastify'

/** A route, as Fastify prints it. */
export interface PrintedRoute {
  readonly methods: readonly string[]
  readonly path: string
}

const indent = 4
const line = /^((?:│ {3}| {4})*)(?:├──|└──) (.*?)(?: \(([A-Z-]+(?:, [A-Z-]+)*)\)(?: \{.*\})?)?$/

/**
 * The routes of an app, whichever context they are in, from the tree that Fastify prints: its only public list of them.
 * A GET route and its HEAD route are one. Routes that differ by a constraint alone are one.
 *
 * Not where the context of a route or its options matter: the tree has neither.
 */
export function printedRoutes(app: FastifyInstance): PrintedRoute[] {
  const routes: PrintedRoute[] = []
  const pieces: string[] = []
  for (const text of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [found, indentation = '', piece = '', methods = ''] = line.exec(text) ?? []
    if (found === undefined) continue
    pieces.splice(indentation.length / indent, Number.POSITIVE_INFINITY, piece.replace(emptyRoot, ''))
    const listed = methods.split(', ').filter((method) => method !== '')
    const readable = listed.includes('GET') ? listed.filter((method) => method !== 'HEAD') : listed
    for (const method of readable) routes.push({ methods: [method], path: pieces.join('') })
  }
  return routes
}

const emptyRoot = '(empty root node)'
