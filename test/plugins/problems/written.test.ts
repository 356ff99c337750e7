import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { fetched, injected, isProblem } from '../../support/problem.js'
import { serve } from '../../support/serve.js'

type Write = (reply: FastifyReply) => unknown

const fixedText = 'The server failed to answer. The cause is in its log, under the request id.'

/** Error answers that a handler writes itself, without throwing. */
const written: Readonly<Record<string, Write>> = {
  json: (reply) => reply.code(404).send({ message: 'no user 42' }),
  text: (reply) => reply.code(404).send('no user 42'),
  html: (reply) => reply.code(404).type('text/html').send('<h1>Not found</h1>'),
  xml: (reply) => reply.code(404).type('application/xml').send('<error/>'),
  buffer: (reply) => reply.code(404).type('application/json').send(Buffer.from('{"message":"no user 42"}')),
  bytes: (reply) => reply.code(404).send(new Uint8Array([0, 255])),
  array: (reply) => reply.code(404).send(['no user 42']),
  number: (reply) => reply.code(404).send(42),
  empty: (reply) => reply.code(404).send(),
  null: (reply) => reply.code(404).send(null),
  returned: (reply) => {
    reply.code(404)
    return { message: 'no user 42' }
  },
  'not-json': (reply) => reply.code(404).type('application/json').send('{"message":'),
  'wrong-length': (reply) => reply.code(404).header('content-length', '3').send('abc'),
}

t.test('an error body that a handler sends becomes a problem, never HTML', async (t) => {
  const app = await appThatWrites(written)

  for (const name of Object.keys(written)) {
    const response = await app.inject(`/v1/${name}`)
    isProblem(t, injected(response), { status: 404, code: 'not-found', title: 'Not found' }, name)
    t.equal(
      response.headers['content-length'],
      String(response.rawPayload.length),
      `${name}: framed by its length`,
    )
  }
})

t.test('the Content-Length of HEAD is that of the problem', async (t) => {
  const app = await appThatWrites(written)
  for (const name of Object.keys(written)) {
    const [get, head] = await Promise.all([
      app.inject({ method: 'GET', url: `/v1/${name}`, headers: { 'x-id': '1' } }),
      app.inject({ method: 'HEAD', url: `/v1/${name}`, headers: { 'x-id': '2' } }),
    ])
    t.equal(head.headers['content-length'], get.headers['content-length'], name)
    t.equal(head.payload, '', name)
  }
})

t.test('over a socket, fetch can read each problem', async (t) => {
  const app = await appThatWrites(written)
  const { origin } = await serve(t, app)

  for (const name of Object.keys(written)) {
    const answer = await fetched(await fetch(`${origin}/v1/${name}`))
    isProblem(t, answer, { status: 404, code: 'not-found' }, name)
  }
})

t.test('the message of a 4xx in JSON becomes the detail, its other members stay', async (t) => {
  const app = await appThatWrites({
    paid: (reply) =>
      reply.code(409).send({ statusCode: 409, message: 'It is paid', order: { id: 7 }, status: 'paid' }),
  })
  const document = isProblem(t, injected(await app.inject('/v1/paid')), {
    status: 409,
    code: 'conflict',
    detail: 'It is paid',
  })

  t.strictSame(document.order, { id: 7 })
})

t.test('members of a handler do not replace those of the problem', async (t) => {
  const app = await appThatWrites({
    posing: (reply) =>
      reply.code(400).send({ status: 200, instance: 'urn:mine', type: 'urn:mine', message: 'no' }),
  })
  const document = isProblem(t, injected(await app.inject('/v1/posing')), {
    status: 400,
    code: 'bad-request',
  })

  t.equal(document.instance, 'urn:request:req-1')
})

t.test('no part of a 5xx body that a handler sends reaches the client', async (t) => {
  const secret = 'select * from passwords'
  const app = await appThatWrites({
    json: (reply) => reply.code(500).send({ message: secret, stack: secret, error: secret }),
    text: (reply) => reply.code(500).send(secret),
    html: (reply) => reply.code(500).type('text/html').send(`<pre>${secret}</pre>`),
    buffer: (reply) => reply.code(500).send(Buffer.from(secret)),
  })

  for (const name of ['json', 'text', 'html', 'buffer']) {
    const answer = injected(await app.inject(`/v1/${name}`))
    isProblem(t, answer, { status: 500, code: 'internal-server-error', detail: fixedText }, name)
    t.notMatch(answer.body, secret, name)
  }
})

t.test('each status has a code and a title, also one without a standard phrase', async (t) => {
  const table: ReadonlyArray<readonly [status: number, code: string, title: string]> = [
    [401, 'unauthorized', 'Unauthorized'],
    [402, 'payment-required', 'Payment required'],
    [410, 'gone', 'Gone'],
    [412, 'precondition-failed', 'Precondition failed'],
    [418, 'status-418', 'Status 418'],
    [451, 'unavailable-for-legal-reasons', 'Unavailable for legal reasons'],
    [599, 'status-599', 'Status 599'],
  ]
  const app = await appThatWrites(
    Object.fromEntries(
      table.map(([status]): [string, Write] => [String(status), (reply) => reply.code(status).send()]),
    ),
  )

  for (const [status, code, title] of table) {
    isProblem(t, injected(await app.inject(`/v1/${status}`)), { status, code, title })
  }
})

t.test('a problem has its own length, on a HEAD route of the app too', async (t) => {
  const writers: Readonly<Record<string, Write>> = {
    written: (reply) => reply.code(404).header('content-length', '3').send('abc'),
    thrown: (reply) => {
      reply.header('content-length', '3')
      throw Object.assign(new Error('x'), { statusCode: 404 })
    },
    response: () => new Response('abc', { status: 404, headers: { 'content-length': '3' } }),
  }
  const app = Fastify()
  await app.register(problems)
  for (const [name, write] of Object.entries(writers)) {
    const handler = async (_request: unknown, reply: FastifyReply) => write(reply)
    app.route({ method: ['GET', 'HEAD'], url: `/v1/${name}`, handler })
  }
  for (const url of Object.keys(writers).map((name) => `/v1/${name}`)) {
    const get = await app.inject(url)
    t.equal(get.headers['content-length'], String(get.rawPayload.length), `GET ${url}`)
    const { headers } = await app.inject({ method: 'HEAD', url })
    t.ok(Number(headers['content-length']) > 3, `HEAD ${url}: ${headers['content-length']}`)
  }
})

t.test('only a 503 gets a Retry-After', async (t) => {
  const app = await appThatWrites({
    written: (reply) => reply.code(500).send(),
    stream: (reply) => reply.code(502).send(Readable.from(['x'])),
    'stream-503': (reply) => reply.code(503).send(Readable.from(['x'])),
    thrown: () => Promise.reject(Object.assign(new Error('x'), { statusCode: 504 })),
    'too-many': (reply) => reply.code(429).send(),
  })
  for (const [name, expected] of [
    ['written', undefined],
    ['stream', undefined],
    ['stream-503', '5'],
    ['thrown', undefined],
    ['too-many', undefined],
  ] as const) {
    t.equal((await app.inject(`/v1/${name}`)).headers['retry-after'], expected, name)
  }
})

t.test('headers that a handler set stay', async (t) => {
  const app = await appThatWrites({
    login: (reply) =>
      reply.code(401).header('www-authenticate', 'Bearer').header('set-cookie', ['a=1', 'b=2']).send(),
    closed: (reply) => reply.code(503).header('retry-after', '60').send(),
    empty: (reply) => reply.code(503).send(),
  })

  t.match((await app.inject('/v1/login')).headers, {
    'www-authenticate': 'Bearer',
    'set-cookie': ['a=1', 'b=2'],
  })
  t.equal((await app.inject('/v1/closed')).headers['retry-after'], '60')
  t.equal((await app.inject('/v1/empty')).headers['retry-after'], '5', 'a 503 always has one')
})

t.test('a problem document that a handler sends is not changed', async (t) => {
  const own = { type: 'https://errors.example/poor', title: 'Not enough money', balance: 30 }
  const app = await appThatWrites({
    object: (reply) => reply.code(402).type('application/problem+json').send(own),
    string: (reply) =>
      reply.code(402).type('application/problem+json; charset=utf-8').send(JSON.stringify(own)),
    cacheable: (reply) =>
      reply.code(402).type('application/problem+json').header('cache-control', 'max-age=5').send(own),
  })

  for (const name of ['object', 'string', 'cacheable']) {
    const response = await app.inject(`/v1/${name}`)
    t.strictSame(response.json(), own)
    t.equal(response.headers['cache-control'], name === 'cacheable' ? 'max-age=5' : 'no-store', name)
  }
})

t.test('streams and encoded bytes are not changed', async (t) => {
  const app = await appThatWrites({
    stream: (reply) =>
      reply
        .code(502)
        .type('text/plain')
        .send(Readable.from(['from ', 'behind'])),
    web: (reply) =>
      reply
        .code(502)
        .type('text/plain')
        .send(new Blob(['from behind']).stream()),
    coded: (reply) => reply.code(502).header('content-encoding', 'br').send(Buffer.from('from behind')),
  })

  for (const name of ['stream', 'web', 'coded']) {
    const response = await app.inject(`/v1/${name}`)
    t.equal(response.statusCode, 502, name)
    t.equal(response.payload, 'from behind', name)
  }
})

t.test('responses below 400 are not changed', async (t) => {
  const app = await appThatWrites({
    text: (reply) => reply.send('hello'),
    html: (reply) => reply.type('text/html').send('<h1>Hello</h1>'),
    none: (reply) => reply.code(204).send(),
    moved: (reply) => reply.redirect('/v1/text'),
    fresh: (reply) => reply.code(304).send(),
  })

  t.equal((await app.inject('/v1/text')).payload, 'hello')
  t.equal((await app.inject('/v1/html')).payload, '<h1>Hello</h1>')
  for (const [name, status] of [
    ['none', 204],
    ['moved', 302],
    ['fresh', 304],
  ] as const) {
    const { statusCode, payload, headers } = await app.inject(`/v1/${name}`)
    t.equal(statusCode, status)
    t.equal(payload, '')
    t.notOk('content-type' in headers, `${status} has no Content-Type`)
  }
})

t.test('a hijacked reply is not changed', async (t) => {
  const app = await appThatWrites({
    raw: (reply) => {
      reply.hijack()
      reply.raw.writeHead(500, { 'content-type': 'text/plain' })
      reply.raw.end('mine')
    },
  })

  t.equal((await app.inject('/v1/raw')).payload, 'mine')
})

async function appThatWrites(answers: Readonly<Record<string, Write>>): Promise<FastifyInstance> {
  const app = Fastify({ genReqId: ({ headers }) => `req-${headers['x-id'] ?? 1}` })
  await app.register(problems)
  for (const [name, write] of Object.entries(answers))
    app.get(`/v1/${name}`, async (_request, reply) => write(reply))
  return app
}
