import { Readable } from 'node:stream'
import t from 'tap'
import {
  isAnswered,
  isErrorOfFramework,
  keptFields,
  problemInBody,
} from '../../../src/plugins/problems/error-body.js'
import { longestDetail } from '../../../src/problem/problem-document.js'
import { ProblemError } from '../../../src/problem/problem-error.js'

t.test('an error body is replaced, unless it is a problem document, a stream or encoded', async (t) => {
  const cases: readonly (readonly [
    about: string,
    type: string,
    isEncoded: boolean,
    payload: unknown,
    detail: unknown,
  ])[] = [
    ['text', 'text/plain; charset=utf-8', false, 'no user 42', 'no user 42'],
    ['the longest text', 'text/plain', false, 'x'.repeat(longestDetail), 'x'.repeat(longestDetail)],
    ['a longer text, which may be a page', 'text/plain', false, 'x'.repeat(longestDetail + 1), ''],
    ['text of null', 'text/plain', false, null, ''],
    ['text of undefined', 'text/plain', false, undefined, ''],
    ['JSON', 'application/json', false, '{"message":"no user 42"}', 'no user 42'],
    ['JSON as bytes', 'application/json', false, Buffer.from('{"message":"no user 42"}'), 'no user 42'],
    ['HTML', 'text/html', false, '<h1>no user 42</h1>', ''],
    ['null without a type', '', false, null, ''],
    ['a problem document', 'application/problem+json; charset=utf-8', false, '{"detail":"x"}', null],
    ['encoded bytes', 'text/plain', true, Buffer.from('x'), null],
    ['a stream', 'text/plain', false, Readable.from(['x']), null],
  ]
  for (const [about, type, isEncoded, payload, detail] of cases) {
    const problem = problemInBody(404, type, isEncoded, payload)
    t.equal(problem?.code, detail === null ? undefined : 'not-found', about)
    if (detail !== null)
      t.equal(problem?.message, detail || problemInBody(404, '', false, '')?.message, about)
  }
})

t.test('a problem keeps the header fields of a Response, but not those of its body or connection', (t) => {
  const headers = {
    'content-language': 'en',
    'content-type': 'text/plain',
    connection: 'close',
    'transfer-encoding': 'chunked',
    'retry-after': '5',
    'x-content-kind': 'a',
  }
  t.strictSame(keptFields(new Response('x', { headers })), [
    ['retry-after', '5'],
    ['x-content-kind', 'a'],
  ])
  t.end()
})

t.test('an error body of Fastify has its three members, the status and the message', (t) => {
  const body = { statusCode: 404, error: 'Not Found', message: 'gone' }
  const cases: readonly (readonly [about: string, payload: unknown, isOfFramework: boolean])[] = [
    ['as Fastify writes it', JSON.stringify(body), true],
    ['with a code', JSON.stringify({ ...body, code: 'FST_ERR_NOT_FOUND' }), true],
    ['of 64 kB', JSON.stringify(body).padEnd(65_536), true],
    ['longer', JSON.stringify(body).padEnd(65_537), false],
    ['as bytes', Buffer.from(JSON.stringify(body)), false],
    ['another status', JSON.stringify({ ...body, statusCode: 400 }), false],
    ['another message', JSON.stringify({ ...body, message: 'lost' }), false],
    ['another member', JSON.stringify({ ...body, id: 7 }), false],
    ['error is an object', JSON.stringify({ ...body, error: {} }), false],
    ['null', 'null', false],
    ['text', 'gone', false],
  ]
  for (const [about, payload, isOfFramework] of cases) {
    t.equal(isErrorOfFramework(payload, 404, 'gone'), isOfFramework, about)
  }
  t.end()
})

t.test('a problem counts as answered, unless the handler sends a 500 or the error body of Fastify', (t) => {
  const ofFastify = JSON.stringify({ statusCode: 404, error: 'Not Found', message: 'gone' })
  const cases: readonly (readonly [
    about: string,
    status: number,
    sent: number,
    payload: unknown,
    isAnswered: boolean,
  ])[] = [
    ['own text', 404, 404, 'gone', true],
    ['own text with another status', 404, 410, 'gone', true],
    ['nothing', 404, 404, null, true],
    ['a 500', 404, 500, 'failed', false],
    ['a 500 for a 500', 500, 500, 'failed', true],
    ['a stream with 500', 404, 500, Readable.from(['x']), true],
    ['the error body of Fastify', 404, 404, ofFastify, false],
  ]
  for (const [about, status, sent, payload, expected] of cases) {
    const problem = new ProblemError('not-found', { status, detail: 'gone' })
    t.equal(isAnswered(problem, sent, payload), expected, about)
  }
  t.end()
})
