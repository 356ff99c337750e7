import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { integerTwins, ProblemError, problems } from '../../../src/index.js'
import { fetched, injected, isProblem } from '../../support/problem.js'
import { serve } from '../../support/serve.js'

type Write = (reply: FastifyReply) => unknown

const fixedText = 'The server failed to answer. The cause is in its log, under the request id.'

/** Error answers that a handler writes itself, without throwing. */
const written: Readonly<Record<string, Write>> = {
  json: (reply) => reply.code(404).send({ message: 'no user 42' }),
  text: (reply) => reply.code(404).send('no user 42'),
  html: (reply) => reply.code(404).type('text/html').send('<h1>Not found</h1>'),
  buffer: (reply) => reply.code(404).type('application/json').send(Buffer.from('{"message":"no user 42"}')),
  bytes: (reply) => reply.code(404).send(new Uint8Array([0, 255])),
  empty: (reply) => reply.code(404).send(),
  null: (reply) => reply.code(404).send(null),
  returned: (reply) => {
    reply.code(404)
    return { message: 'no user 42' }
  },
  'not-json': (reply) => reply.code(404).type('application/json').send('{"message":'),
  'wrong-length': (reply) => reply.code(404).header('content-length', '3').send('abc'),
}

t.test('what a hook of the app changes on a problem is put right', async (t) => {
  const changes: Readonly<Record<string, (reply: FastifyReply) => unknown>> = {
    type: (reply) => reply.type('application/json'),
    directives: (reply) => reply.removeHeader('cache-control'),
    waiting: (reply) => reply.code(503),
  }
  for (const [name, change] of Object.entries(changes)) {
    const app = Fastify()
    // Before the hook of this package.
    app.addHook('onSend', async (_request, reply) => void change(reply))
    await app.register(problems)
    const response = await app.inject('/v1/nothing')
    t.equal(response.headers['content-type'], 'application/problem+json', name)
    t.equal(response.headers['cache-control'], 'no-store', name)
    t.equal(response.headers['retry-after'], name === 'waiting' ? '5' : undefined, name)
  }
})

t.test('an error body that a handler sends becomes a problem, framed by its own length', async (t) => {
  const app = await appThatWrites(written)
  const { origin } = await serve(t, app)
  for (const name of Object.keys(written)) {
    const response = await fetch(`${origin}/v1/${name}`, { headers: { 'x-id': '1' } })
    const length = response.headers.get('content-length')
    const answer = await fetched(response)
    isProblem(t, answer, { status: 404, code: 'not-found', title: 'Not found' }, name)
    t.equal(length, String(Buffer.byteLength(answer.body)), name)
    const head = await app.inject({ method: 'HEAD', url: `/v1/${name}`, headers: { 'x-id': '2' } })
    t.strictSame([head.payload, head.headers['content-length']], ['', length], `${name}: HEAD`)
  }
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

t.test('only a 503 gets a Retry-After, unless the handler set one; other headers of it stay', async (t) => {
  const login = { 'www-authenticate': 'Bearer', 'set-cookie': ['a=1', 'b=2'] }
  const app = await appThatWrites({
    written: (reply) => reply.code(500).send(),
    'stream-503': (reply) => reply.code(503).send(Readable.from(['x'])),
    closed: (reply) => reply.code(503).header('retry-after', '60').send(),
    'too-many': (reply) => reply.code(429).send(),
    login: (reply) => reply.code(401).headers(login).send(),
  })
  for (const [name, expected] of [
    ['written', undefined],
    ['stream-503', '5'],
    ['closed', '60'],
    ['too-many', undefined],
  ] as const)
    t.equal((await app.inject(`/v1/${name}`)).headers['retry-after'], expected, name)
  t.match((await app.inject('/v1/login')).headers, login)
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

t.test('streams, encoded bytes and hijacked replies are not changed', async (t) => {
  const body = 'from behind'
  const app = await appThatWrites({
    stream: (reply) =>
      reply
        .code(502)
        .type('text/plain')
        .send(Readable.from([body])),
    web: (reply) =>
      reply
        .code(502)
        .type('text/plain')
        .send(new Blob([body]).stream()),
    coded: (reply) => reply.code(502).header('content-encoding', 'br').send(Buffer.from(body)),
    hijacked: (reply) => void reply.hijack().raw.writeHead(502).end(body),
  })
  for (const name of ['stream', 'web', 'coded', 'hijacked']) {
    const { statusCode, payload } = await app.inject(`/v1/${name}`)
    t.strictSame([statusCode, payload], [502, body], name)
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
  for (const [name, status, body] of [
    ['text', 200, 'hello'],
    ['html', 200, '<h1>Hello</h1>'],
    ['none', 204, ''],
    ['moved', 302, ''],
    ['fresh', 304, ''],
  ] as const) {
    const { statusCode, payload, headers } = await app.inject(`/v1/${name}`)
    t.strictSame([statusCode, payload], [status, body])
    t.equal('content-type' in headers, body !== '', `${status}: Content-Type`)
  }
})

async function appThatWrites(answers: Readonly<Record<string, Write>>): Promise<FastifyInstance> {
  const app = Fastify({ genReqId: ({ headers }) => `req-${headers['x-id'] ?? 1}` })
  await app.register(problems)
  for (const [name, write] of Object.entries(answers))
    app.get(`/v1/${name}`, async (_request, reply) => write(reply))
  return app
}

t.test('long integers in what an app sends or throws are kept, at any depth and in strings', async (t) => {
  const long = 9007199254740993n
  const numbers = `"debt":-${long},"most":18446744073709551615,"count":9000000000000001`
  const deep = `"orders":[{"id":${long}}],"__proto__":{"id":${long}}`
  const kept = `${deep},"note":"id ${long}, not","share":0.1234567890123456,${numbers}`
  const app = Fastify()
  await app.register(problems)
  await app.register(integerTwins)
  app.get('/v1/sent', (_, reply) => reply.code(409).type('application/json').send(`{${kept}}`))
  app.get('/v1/thrown', async () => {
    throw new ProblemError('conflict', { status: 409, extensions: { order_id: long, n: 5n } })
  })
  for (const [url, members] of [
    ['/v1/sent', kept],
    ['/v1/thrown', `"order_id":${long},"n":5`],
  ] as const) {
    const response = await app.inject(url)
    isProblem(t, injected(response), { status: 409, code: 'conflict' }, url)
    t.match(response.payload, members)
    t.equal(response.headers['content-length'], String(response.rawPayload.length))
  }
})
