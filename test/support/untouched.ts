import { Readable } from 'node:stream'
import Fastify, { type FastifyPluginAsync, type FastifyReply, type RouteShorthandOptions } from 'fastify'
import type { Test } from 'tap'
import { exchange, requestBytes, withoutDate } from './raw.js'
import { serve } from './serve.js'

type Answer = (reply: FastifyReply) => unknown

/** What is answered, by the path that answers it, and the options of the route. */
export type Answers = Readonly<Record<string, readonly [answer: Answer, options?: RouteShorthandOptions]>>

const json = '{"id":9007199254740993,"name":"a"}'

/** Answers that are not written by the schema of their route. */
export function unwritten(options: RouteShorthandOptions): Answers {
  const answers: Readonly<Record<string, Answer>> = {
    empty: (reply) => reply.send(),
    thrown: () => Promise.reject(Object.assign(new Error('broken'), { statusCode: 409 })),
    string: (reply) => reply.send('9007199254740993'),
    'json-string': (reply) => reply.type('application/json').send(json),
    buffer: (reply) => reply.send(Buffer.from(json)),
    stream: (reply) => reply.type('application/json').send(Readable.from([json])),
    'web-response': () => new Response(json),
    'own-serializer': (reply) => reply.type('text/csv').serializer(String).send({ id: 5 }),
  }
  return Object.fromEntries(Object.entries(answers).map(([path, answer]) => [path, [answer, options]]))
}

/** Checks that all answers are, byte for byte, those of the app without the plugin. */
export async function isUntouched(
  t: Test,
  plugin: FastifyPluginAsync,
  answers: Answers,
  { queries = [''], methods = ['GET', 'HEAD'] }: { queries?: string[]; methods?: string[] } = {},
): Promise<void> {
  const portOf = async (isOn: boolean) => {
    const app = Fastify()
    if (isOn) await app.register(plugin)
    for (const [path, [answer, options = {}]] of Object.entries(answers))
      app.route({ ...options, method: methods, url: `/v1/${path}`, handler: (_, reply) => answer(reply) })
    return (await serve(t, app)).port
  }
  const [bare, port] = [await portOf(false), await portOf(true)]
  for (const path of Object.keys(answers)) {
    for (const query of queries) {
      for (const method of methods) {
        const request = requestBytes(method, `/v1/${path}${query}`)
        const [expected, received] = [await exchange(bare, request), await exchange(port, request)]
        t.equal(withoutDate(received), withoutDate(expected), `${method} ${path}${query}`)
      }
    }
  }
}
