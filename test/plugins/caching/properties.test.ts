/** What holds for all payloads and all conditional requests. */
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { caching, problems } from '../../../src/index.js'

const modified = Date.UTC(2026, 10, 19, 8)
const time = (seconds: number): string => new Date(modified + seconds * 1000).toUTCString()
const tag = fc.constantFrom(...'"a" W/"a" "b" W/"b" "a--x" "" a "a * "é" "a""b"'.split(' '), '')
const tags = fc.oneof(
  tag,
  fc.array(tag, { maxLength: 4 }).map((all) => all.join(', ')),
)
const otherForms = ['Thursday, 19-Nov-26 08:00:00 GMT', 'Thu Nov 19 08:00:00 2026', '2026-11-19T08:00:00Z']
const date = fc.oneof(fc.integer({ min: -2, max: 2 }).map(time), fc.constantFrom('junk', '', ...otherForms))
const conditions = fc
  .record(
    { 'if-match': tags, 'if-none-match': tags, 'if-modified-since': date, 'if-unmodified-since': date },
    { requiredKeys: [] },
  )
  .map((given) => given as Record<string, string>)
const validators = fc.record(
  { etag: fc.constantFrom('"a"', 'W/"a"', '"b"'), lastModified: fc.constant(modified) },
  { requiredKeys: ['etag'] },
)

t.test('reads are answered alike before and after the handler; writes performed or a 412', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(caching)
  let found: { etag: string; lastModified?: number } | null = null
  const config = { caching: { validators: async () => found, lastModified: false } } as const
  app.get('/v1/before', { config }, () => ({}))
  app.put('/v1/before', { config }, () => ({}))
  app.get('/v1/after', (_, reply) => {
    if (found?.lastModified !== undefined) reply.caching({ lastModified: new Date(found.lastModified) })
    return reply.caching({ etag: found?.etag ?? '' }).send({})
  })
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(conditions, validators, async (headers, given) => {
      found = given
      const ask = async (method: 'GET' | 'HEAD' | 'PUT', url: string) =>
        (await app.inject({ method, url, headers })).statusCode
      const status = await ask('GET', '/v1/before')
      for (const method of ['GET', 'HEAD'] as const)
        for (const url of ['/v1/before', '/v1/after'])
          if ((await ask(method, url)) !== status) throw new Error(`${method} ${url} is not ${status}`)
      const written = await ask('PUT', '/v1/before')
      seen.add(`GET ${status}`).add(`PUT ${written}`)
      // What is current already is not written again; what fails for a read fails for a write.
      return status === 200 || written === 412 || headers['if-none-match'] === undefined
    }),
    { numRuns: 400 },
  )
  t.strictSame([...seen].sort(), ['GET 200', 'GET 304', 'GET 412', 'PUT 200', 'PUT 412'])
})
