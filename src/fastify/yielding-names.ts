import type { FastifyInstance } from 'fastify'
import { assignedNames, decorated, type NameOwner } from './internals.js'
import { appSlot } from './slots.js'

/** A value, such as a method, or a getter. */
export type NamedMember = { readonly value: unknown } | { readonly get: (this: never) => unknown }

/** Whether a context, its requests or its replies have the member that was added, and none of the app. */
export type IsOurs = (context: FastifyInstance, name: string) => boolean

/**
 * Gives a context, its requests or its replies members that give way: a decorator of the app with the same name wins,
 * whichever is added first, and Fastify does not refuse it. Fastify refuses a decorator whose name the object itself has;
 * these are members of a prototype between the object and its own prototype.
 */
export function addYieldingNames(
  app: FastifyInstance,
  owner: NameOwner,
  members: Readonly<Record<string, NamedMember>>,
): IsOurs {
  const layer = layerOf(app, owner)
  for (const [name, member] of Object.entries(members)) {
    if (!isTaken[owner](app, name)) Object.defineProperty(layer, name, descriptorOf(name, member))
  }
  return (context, name) => holderOf(decorated(context, owner), name) === layer
}

const isTaken: Readonly<Record<NameOwner, (app: FastifyInstance, name: string) => boolean>> = {
  app: (app, name) => app.hasDecorator(name),
  request: (app, name) => app.hasRequestDecorator(name),
  reply: (app, name) => app.hasReplyDecorator(name),
}

const layers = appSlot<{ [Owner in NameOwner]?: object }>('names')
const ownConstructor = Symbol.for('fastify-conventions.ownConstructor')

function layerOf(app: FastifyInstance, owner: NameOwner): object {
  const ofApp = layers.own(app) ?? {}
  if (layers.own(app) === undefined) layers.set(app, ofApp)
  const known = ofApp[owner]
  if (known !== undefined) return known
  // Without a decorator, a context has the requests and replies of the context above it.
  if (owner === 'request') app.decorateRequest(ownConstructor, function isDecorated() {})
  if (owner === 'reply') app.decorateReply(ownConstructor, function isDecorated() {})
  const object = decorated(app, owner)
  const layer: object = Object.create(Object.getPrototypeOf(object))
  Object.setPrototypeOf(object, layer)
  ofApp[owner] = layer
  return layer
}

function descriptorOf(name: string, member: NamedMember): PropertyDescriptor {
  if ('value' in member) return { value: member.value, writable: true, configurable: true }
  return {
    get: member.get as () => unknown,
    // Fastify assigns a value that a context below decorates its requests with.
    set(value) {
      Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true })
    },
    configurable: true,
  }
}

/** Returns the prototype that gives an object a member of a name, itself or by its constructor. */
export function holderOf(object: object, name: string): object | null {
  for (let holder: object | null = object; holder !== null; holder = Object.getPrototypeOf(holder)) {
    if (Object.hasOwn(holder, name) || assignedNames(holder).includes(name)) return holder
  }
  return null
}
