import type helmet from '@fastify/helmet'
import type { FastifyHelmetOptions } from '@fastify/helmet'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { standInFor } from '../../fastify/stand-in.js'
import { invalid, isObject } from '../../options.js'
import { type HelmetHeaders, profiles, type ResolvedSecurityHeaders } from './options.js'

type Helmet = typeof helmet

/** Header fields, by their names in lowercase. */
export type Fields = Readonly<Record<string, string>>

/** What @fastify/helmet would do on each request. */
export interface HelmetHooks {
  /** Puts `helmet()` and, where enabled, `cspNonce` on a reply. */
  readonly prepare: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  /** Has helmet set its headers. */
  readonly apply: (
    request: FastifyRequest,
    reply: FastifyReply,
    next: () => void,
  ) => Promise<void> | undefined
}

/** The headers of a configuration. */
export interface HelmetOutput {
  /** What is the same on each request, over TLS. */
  readonly secure: Fields
  /** The same without TLS: without `Strict-Transport-Security`. The same object where that is switched off. */
  readonly plain: Fields
  /** What sets the others; `null` where there are none. */
  readonly perRequest: HelmetHooks | null
  /** The `Content-Security-Policy` of the profile for APIs, which no page works under; `null` for any other. */
  readonly pagePolicy: string | null
}

/**
 * Takes the output of helmet once. What differs from request to request is left to @fastify/helmet itself.
 *
 * @param helmet the plugin of @fastify/helmet, which is loaded at registration
 * @throws FST_CONV_OPTION_INVALID for options that helmet does not take
 */
export function helmetOutput(
  helmet: Helmet,
  app: FastifyInstance,
  label: string,
  { mode: _, profile, ...given }: ResolvedSecurityHeaders,
): HelmetOutput {
  const { enableCSPNonces, ...headers }: HelmetHeaders = { ...profiles[profile], ...given }
  // It sets no header, and would have nothing to take away here.
  const options = { ...headers, xPoweredBy: false } as FastifyHelmetOptions
  const varies = hasFunction(options.contentSecurityPolicy)
  const nonces = enableCSPNonces === true && options.contentSecurityPolicy !== false
  const { 'strict-transport-security': hsts, ...others } = runOnce(
    helmet,
    app,
    label,
    // A function may read of the request what there is only later.
    varies ? { ...options, contentSecurityPolicy: false } : options,
  )
  const always: Fields = varies || nonces ? {} : others
  const plain = Object.freeze({ ...always })
  const isOfApi = profile === 'api' && given.contentSecurityPolicy === undefined
  return {
    plain,
    pagePolicy: isOfApi ? (plain['content-security-policy'] ?? null) : null,
    secure: hsts === undefined ? plain : Object.freeze({ ...always, 'strict-transport-security': hsts }),
    perRequest:
      varies || nonces
        ? helmetHooks(helmet, app, {
            ...options,
            strictTransportSecurity: false,
            enableCSPNonces: nonces,
          } as FastifyHelmetOptions)
        : null,
  }
}

/** What helmet sets for a request of which it looks at nothing. */
function runOnce(helmet: Helmet, app: FastifyInstance, label: string, options: FastifyHelmetOptions): Fields {
  const fields: Record<string, string> = {}
  const raw = {
    setHeader: (name: string, value: string) => {
      fields[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  const reply = { raw } as unknown as FastifyReply
  const request = { raw: {}, routeOptions: { config: {} } } as FastifyRequest
  void helmetHooks(helmet, app, options).prepare(request, reply)
  try {
    reply.helmet()
  } catch (error) {
    const { message } = error as Error
    invalid(label, `what helmet takes (${message})`, options)
  }
  return fields
}

/** Sets up @fastify/helmet, and keeps the hooks that it would have put on every route. */
function helmetHooks(helmet: Helmet, app: FastifyInstance, options: FastifyHelmetOptions): HelmetHooks {
  const hooks: unknown[] = []
  const standIn = standInFor(app, {
    hasReplyDecorator: () => true,
    addHook: (name: string, hook: unknown) => {
      if (name === 'onRequest') hooks.push(hook)
      return standIn
    },
  })
  void helmet(standIn, options)
  const [prepare, apply] = hooks
  return { prepare, apply } as HelmetHooks
}

function hasFunction(policy: FastifyHelmetOptions['contentSecurityPolicy']): boolean {
  if (!isObject(policy) || !isObject(policy.directives)) return false
  return Object.values(policy.directives).some(
    (values) =>
      typeof values === 'object' && values !== null && [...(values as Iterable<unknown>)].some(isFunction),
  )
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
