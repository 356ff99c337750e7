import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { RouteSerialization } from '../../fastify/serialization.js'
import type { Reporter } from '../../rules/report.js'
import { type TwinPaths, twinPaths } from './twin-paths.js'

/** Counts the answers of a route that would get string twins, and those in which digits are lost. */
export class TwinsObserver {
  readonly #reporter: Reporter
  readonly #declared: RouteSerialization

  constructor(app: FastifyInstance, route: RouteOptions, reporter: Reporter) {
    const name = `${[route.method].flat().join(', ')} ${route.url}`
    this.#reporter = reporter
    this.#declared = new RouteSerialization(app, route.schema?.response, name, route.serializerCompiler)
    this.#declared.twins = true
  }

  /** Reads what is declared, once all shared schemas are known. Without it, nothing is. */
  prepare(): void {
    this.#declared.prepare()
  }

  /** The `preSerialization` hook. */
  readonly observe = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void => {
    const { twin, lost } = this.#pathsIn(payload, reply)
    if (lost !== null) {
      const given = `${lost} is a Number beyond 2^53 in a declared 64-bit integer: its digits are lost`
      this.#reporter.observe('integerTwins', 'lost-digits', request, given)
    }
    if (twin !== null) this.#reporter.observe('integerTwins', 'twin', request, `${twin} would get a twin`)
    next(null, payload)
  }

  #pathsIn(payload: unknown, reply: FastifyReply): TwinPaths {
    try {
      const contentType = String(reply.getHeader('content-type') ?? '')
      return twinPaths(payload, this.#declared.writerFor(reply.statusCode, contentType)?.shape)
    } catch {
      // A schema that cannot be compiled, or a getter that throws, is for the app to meet, as without this plugin.
      return { twin: null, lost: null }
    }
  }
}
