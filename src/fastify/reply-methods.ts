import type { FastifyInstance, FastifyReply } from 'fastify'
import { replyPrototype } from './internals.js'

/** A method of replies. */
export type ReplyMethod = (this: FastifyReply, ...parameters: never[]) => unknown

/** A method of the app that has the name of one of ours. */
export interface ReplyMethodConflict {
  readonly name: string
  readonly own: ReplyMethod
  readonly other: ReplyMethod
}

/**
 * Defines methods on the replies of a context and of the contexts below it, when the app gets ready: plugins can
 * decorate replies with the same names in any order. A decorator of the app with the name stays, and a warning is
 * logged; if it is a method, `merge` may return one that calls both.
 */
export function addReplyMethods(
  app: FastifyInstance,
  plugin: string,
  methods: Readonly<Record<string, ReplyMethod>>,
  merge: ((conflict: ReplyMethodConflict) => ReplyMethod) | null,
): void {
  const contexts = new Set([app])
  const defined = new Set<unknown>()
  const kept = new Set<string>()
  // Without a decorator, a context has the replies of the context above it, and the root those of all apps.
  app.decorateReply(isDecorated, function isDecorated() {})
  app.addHook('onRoute', function noteContext() {
    contexts.add(this)
  })
  app.addHook('onReady', function defineReplyMethods(done) {
    for (const context of contexts) {
      for (const [name, own] of Object.entries(methods)) define(context, name, own)
    }
    for (const name of kept) app.log.warn(`${plugin}: reply.${name}() is the app's own and stays as it is`)
    done()
  })

  function define(context: FastifyInstance, name: string, own: ReplyMethod): void {
    const prototype = replyPrototype(context)
    const other = memberOf(prototype, name)
    if (defined.has(other)) return
    const isTaken = other !== undefined || context.hasReplyDecorator(name)
    if (isTaken) kept.add(name)
    if (isTaken && (merge === null || typeof other !== 'function')) return
    const value = typeof other === 'function' ? merge?.({ name, own, other: other as ReplyMethod }) : own
    defined.add(value)
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
  }
}

const isDecorated = Symbol.for('fastify-conventions.replyMethods')

/** Returns a member of a prototype; of a getter, which is not called, the descriptor. */
function memberOf(prototype: object, name: string): unknown {
  for (let object: object | null = prototype; object !== null; object = Object.getPrototypeOf(object)) {
    const descriptor = Object.getOwnPropertyDescriptor(object, name)
    if (descriptor !== undefined) return descriptor.get === undefined ? descriptor.value : descriptor
  }
  return undefined
}
