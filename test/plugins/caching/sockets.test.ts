/** Over sockets: repeated header lines, the bytes of a 304. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { caching, problems } from '../../../src/index.js'
import { ask, exchange, openConnection, parseAnswers, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const modified = Date.UTC(2026, 10, 19, 8)
const modifiedText = 'Thu, 19 Nov 2026 08:00:00 GMT'
const before = 'Thu, 19 Nov 2026 07:59:59 GMT'

async function appWith(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  await app.register(caching)
  const validators = () => ({ version: 7, lastModified: modified })
  const config = { caching: { validators } }
  app.route({ method: ['GET', 'PUT'], url: '/v1/before', config, handler: () => ({ id: 1 }) })
  app.get('/v1/after', (_, reply) =>
    reply.caching({ etag: '7', lastModified: new Date(modified) }).send({ id: 1 }),
  )
  return app
}

function linesOf(method: string, url: string, lines: readonly string[]): string {
  return `${[`${method} ${url} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`
}

t.test('repeated lines: lists are joined, and repeated dates are ignored', async (t) => {
  const { port } = await serve(t, await appWith())
  const cases: readonly (readonly [lines: readonly string[], get: number, put: number])[] = [
    [['If-None-Match: "6"', 'If-None-Match: "7"'], 304, 412],
    [['If-None-Match: *', 'If-None-Match: *'], 200, 412],
    [['If-Match: "6"', 'If-Match: "7"'], 200, 200],
    [[`If-Modified-Since: ${modifiedText}`, `If-Modified-Since: ${modifiedText}`], 200, 200],
    [[`If-Unmodified-Since: ${before}`, `If-Unmodified-Since: ${before}`], 200, 200],
    [['If-None-Match:  \t"7"\t '], 304, 412],
  ]
  for (const [lines, get, put] of cases) {
    for (const [method, url, status] of [
      ['GET', '/v1/before', get],
      ['HEAD', '/v1/before', get],
      ['GET', '/v1/after', get],
      ['PUT', '/v1/before', put],
    ] as const) {
      const { status: received } = await ask(port, linesOf(method, url, lines))
      t.equal(received, status, `${method} ${url} ${lines.join(' | ')}`)
    }
  }
})

t.test('a 304 ends with its header section, and the connection stays open', async (t) => {
  const { port } = await serve(t, await appWith())
  const names = ['cache-control', 'connection', 'date', 'etag', 'keep-alive']
  for (const url of ['/v1/before', '/v1/after']) {
    for (const method of ['GET', 'HEAD']) {
      const connection = await openConnection(port)
      const request = requestBytes(method, url, { 'if-none-match': '"7"', connection: 'keep-alive' })
      connection.send(`${request}${request}${requestBytes('GET', url)}`)
      const answers = parseAnswers(await connection.ended())
      const received = answers.map(({ status, body }) => [status, body].join(' '))
      t.strictSame(received, ['304 ', '304 ', '200 {"id":1}'], `${method} ${url}`)
      for (const answer of answers.slice(0, 2))
        t.strictSame(Object.keys(answer.headers).sort(), names, `${method} ${url}: its headers`)
    }
  }
})

t.test('HEAD has every header of GET, with the length of what GET sends', async (t) => {
  const { port } = await serve(t, await appWith())
  for (const url of ['/v1/before', '/v1/after']) {
    const sections = []
    for (const method of ['GET', 'HEAD']) {
      const bytes = await exchange(port, requestBytes(method, url))
      const [section = '', body = ''] = bytes.replace(/\r\ndate: [^\r]+/i, '').split('\r\n\r\n')
      sections.push(section.toLowerCase().split('\r\n').sort())
      t.equal(body, method === 'GET' ? '{"id":1}' : '', `${method} ${url}`)
    }
    t.strictSame(sections[1], sections[0], url)
  }
})
