import type { FastifyRequest } from 'fastify'

/**
 * A function of a request and of further parameters. The request may be typed by its route, such as
 * `FastifyRequest<{ Params: { id: string } }>`: TypeScript compares the parameters of methods in both directions.
 */
export type AnyRequest<Parameters extends readonly unknown[], Result> = {
  of(request: FastifyRequest, ...parameters: Parameters): Result
}['of']
