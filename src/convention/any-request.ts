import type { FastifyRequest } from 'fastify'

/** A function whose parameters may be narrower: TypeScript compares the parameters of methods in both directions. */
export type AnyFunction<Parameters extends readonly unknown[], Result> = {
  of(...parameters: Parameters): Result
}['of']

/**
 * A function of a request and of further parameters. The request may be typed by its route, such as
 * `FastifyRequest<{ Params: { id: string } }>`.
 */
export type AnyRequest<Parameters extends readonly unknown[], Result> = AnyFunction<
  [request: FastifyRequest, ...parameters: Parameters],
  Result
>
