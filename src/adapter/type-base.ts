import type { FastifyInstance } from 'fastify'
import { defaultTypeBase } from '../http/problem.js'

const key = Symbol.for('fastify-conventions.typeBase')

/** Says what the `type` of problems begins with in a context, and in those below it. */
export function declareTypeBase(app: FastifyInstance, typeBase: string): void {
  app.decorate(key, typeBase)
}

/** What the `type` of problems begins with in a context: as was declared for it or above it, else the default. */
export function typeBaseOf(app: FastifyInstance): string {
  return (app as { readonly [key]?: string })[key] ?? defaultTypeBase
}
