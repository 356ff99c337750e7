/** RFC 9110 §13: preconditions, one table per clause that binds an origin server. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { RequestFields } from '../../../src/http/header-fields.js'
import {
  evaluatePreconditions,
  type PreconditionVerdict,
  type Validators,
} from '../../../src/plugins/caching/preconditions.js'
import { superlinearSeeds } from '../../support/growth.js'

const anyUnit = fc.nat(0xffff).map((unit) => String.fromCharCode(unit))
const now = Date.parse('2026-11-20T12:00:00Z')
const modified = Date.parse('2026-11-20T10:00:00Z')
const before = 'Fri, 20 Nov 2026 09:59:59 GMT'
const same = 'Fri, 20 Nov 2026 10:00:00 GMT'
const after = 'Fri, 20 Nov 2026 10:00:01 GMT'

const current: Validators = { etag: '"v7"', lastModified: modified }
const reading = ['GET', 'HEAD'] as const
const writing = ['PUT', 'PATCH', 'DELETE', 'POST', 'PURGE'] as const
const [go, unchanged, failed] = ['proceed', 'not-modified', 'precondition-failed'] as const

type Row = readonly [
  methods: readonly string[],
  fields: RequestFields,
  validators: Validators | null,
  verdict: PreconditionVerdict,
]

t.test('RFC 9110 §13.2.2 step 6: a request without preconditions is performed', async (t) => {
  judges(t, [
    [[...reading, ...writing], {}, current, go],
    [[...reading, ...writing], {}, {}, go],
    [[...reading, ...writing], {}, null, go],
    [[...reading, ...writing], { etag: '"v7"', 'last-modified': same, range: 'bytes=0-1' }, current, go],
  ])
})

t.test('RFC 9110 §13.1.1 (1): If-Match: * is true if and only if there is a representation', async (t) => {
  judges(t, [
    [[...reading, ...writing], { 'if-match': '*' }, current, go],
    [[...reading, ...writing], { 'if-match': '*' }, {}, go],
    [[...reading, ...writing], { 'if-match': '*' }, null, failed],
  ])
})

t.test('RFC 9110 §13.1.1 (2): If-Match is true if one of its tags matches', async (t) => {
  judges(t, [
    [[...reading, ...writing], { 'if-match': '"v7"' }, current, go],
    [[...reading, ...writing], { 'if-match': '"v6", "v7"' }, current, go],
    [[...reading, ...writing], { 'if-match': ',"v7" ,, "v8",' }, current, go],
    [[...reading, ...writing], { 'if-match': '"v6,", "v7"' }, current, go],
    [[...reading, ...writing], { 'if-match': '""' }, { etag: '""' }, go],
  ])
})

t.test('RFC 9110 §13.1.1 (3): otherwise If-Match is false, on GET too', async (t) => {
  judges(t, [
    [[...reading, ...writing], { 'if-match': '"v6"' }, current, failed],
    [[...reading, ...writing], { 'if-match': '"V7"' }, current, failed],
    [[...reading, ...writing], { 'if-match': '"v6", "v8"' }, current, failed],
    [[...reading, ...writing], { 'if-match': '"v6,v7"' }, current, failed],
    [[...reading, ...writing], { 'if-match': '"v7"' }, null, failed],
    [[...reading, ...writing], { 'if-match': '"v7"' }, { lastModified: modified }, failed],
    [[...reading, ...writing], { 'if-match': '"*"' }, current, failed],
    [[...reading, ...writing], { 'if-match': '' }, current, failed],
    [[...reading, ...writing], { 'if-match': ' , ' }, current, failed],
  ])
})

t.test('RFC 9110 §13.1.1: If-Match is compared strongly, so a weak tag never matches', async (t) => {
  judges(t, [
    [[...reading, ...writing], { 'if-match': 'W/"v7"' }, current, failed],
    [[...reading, ...writing], { 'if-match': '"v7"' }, { etag: 'W/"v7"' }, failed],
    [[...reading, ...writing], { 'if-match': 'W/"v7"' }, { etag: 'W/"v7"' }, failed],
    [[...reading, ...writing], { 'if-match': 'W/"v7", "v7"' }, current, go],
    [[...reading, ...writing], { 'if-match': '*' }, { etag: 'W/"v7"' }, go],
  ])
})

t.test('RFC 9110 §13.1.1 (3): an If-Match that is neither * nor a list is false', async (t) => {
  for (const value of ['v7', 'w/"v7"', '"v7', '*, "v7"', '"v7", *', '*, *', '"v7" "v8"', '"v7"; a', same]) {
    judges(t, [[[...reading, ...writing], { 'if-match': value }, current, failed]])
  }
  judges(t, [[writing, { 'if-match': 'v7' }, { etag: 'v7' }, failed]])
})

t.test('RFC 9110 §5.3: several lines of If-Match or If-None-Match are one list', async (t) => {
  judges(t, [
    [writing, { 'if-match': ['"v6"', '"v7"'] }, current, go],
    [writing, { 'if-match': ['"v6"', '"v8"'] }, current, failed],
    [reading, { 'if-none-match': ['"v6"', '"v7"'] }, current, unchanged],
    [reading, { 'if-none-match': ['"v6"', '"v8"'] }, current, go],
  ])
})

t.test(
  'RFC 9110 §13.1.2 (1): If-None-Match: * is false if and only if there is a representation',
  async (t) => {
    judges(t, [
      [reading, { 'if-none-match': '*' }, current, unchanged],
      [reading, { 'if-none-match': '*' }, {}, unchanged],
      [writing, { 'if-none-match': '*' }, current, failed],
      [[...reading, ...writing], { 'if-none-match': '*' }, null, go],
    ])
  },
)

t.test('RFC 9110 §13.1.2 (2): If-None-Match is false if one of its tags matches', async (t) => {
  judges(t, [
    [reading, { 'if-none-match': '"v7"' }, current, unchanged],
    [reading, { 'if-none-match': '"v6", "v7"' }, current, unchanged],
    [reading, { 'if-none-match': ',"v7",,' }, current, unchanged],
    [writing, { 'if-none-match': '"v7"' }, current, failed],
    [writing, { 'if-none-match': '"v6", "v7"' }, current, failed],
  ])
})

t.test('RFC 9110 §13.1.2 (3): otherwise If-None-Match is true', async (t) => {
  judges(t, [
    [[...reading, ...writing], { 'if-none-match': '"v6"' }, current, go],
    [[...reading, ...writing], { 'if-none-match': '"V7"' }, current, go],
    [[...reading, ...writing], { 'if-none-match': '"v6,", ",v7"' }, current, go],
    [[...reading, ...writing], { 'if-none-match': '"v7"' }, { lastModified: modified }, go],
    [[...reading, ...writing], { 'if-none-match': '"*"' }, current, go],
    [[...reading, ...writing], { 'if-none-match': '' }, current, go],
    [[...reading, ...writing], { 'if-none-match': ',' }, current, go],
  ])
})

t.test('RFC 9110 §13.1.2: If-None-Match is compared weakly', async (t) => {
  judges(t, [
    [reading, { 'if-none-match': 'W/"v7"' }, current, unchanged],
    [reading, { 'if-none-match': '"v7"' }, { etag: 'W/"v7"' }, unchanged],
    [reading, { 'if-none-match': 'W/"v7"' }, { etag: 'W/"v7"' }, unchanged],
    [reading, { 'if-none-match': '"v6", W/"v7"' }, current, unchanged],
    [writing, { 'if-none-match': 'W/"v7"' }, current, failed],
    [reading, { 'if-none-match': 'W/"v6"' }, current, go],
  ])
})

t.test(
  'RFC 9110 §2.4, §13.1.2: an invalid If-None-Match gets a 200 for a read, and a 412 for a write',
  async (t) => {
    for (const value of ['v7', 'w/"v7"', '"v7', '*, "v7"', '*, *', '"v7" "v8"', '"v7" junk']) {
      judges(t, [
        [reading, { 'if-none-match': value }, current, go],
        [writing, { 'if-none-match': value }, current, failed],
        [writing, { 'if-none-match': value }, null, failed],
      ])
    }
    judges(t, [
      [reading, { 'if-none-match': 'v7' }, { etag: 'v7' }, go],
      [reading, { 'if-none-match': 'v7', 'if-modified-since': after }, current, go],
      [writing, { 'if-none-match': ['*', '*'] }, current, failed],
    ])
  },
)

t.test('RFC 9110 §13.1.3: If-Modified-Since is false if the date is not later', async (t) => {
  judges(t, [
    [reading, { 'if-modified-since': before }, current, go],
    [reading, { 'if-modified-since': same }, current, unchanged],
    [reading, { 'if-modified-since': after }, current, unchanged],
    [reading, { 'if-modified-since': 'Sat, 20 Nov 2027 10:00:00 GMT' }, current, unchanged],
    [reading, { 'if-modified-since': 'Friday, 20-Nov-26 10:00:00 GMT' }, current, unchanged],
    [reading, { 'if-modified-since': 'Fri Nov 20 10:00:00 2026' }, current, unchanged],
    [reading, { 'if-modified-since': 'Friday, 20-Nov-26 09:59:59 GMT' }, current, go],
    [reading, { 'if-modified-since': 'Fri Nov 20 09:59:59 2026' }, current, go],
  ])
})

t.test('RFC 9110 §13.1.3: If-Modified-Since is ignored beside If-None-Match', async (t) => {
  judges(t, [
    [reading, { 'if-none-match': '"v6"', 'if-modified-since': after }, current, go],
    [reading, { 'if-none-match': '"v7"', 'if-modified-since': before }, current, unchanged],
    [reading, { 'if-none-match': '', 'if-modified-since': after }, current, go],
    [reading, { 'if-none-match': '"v7"', 'if-modified-since': after }, { lastModified: modified }, go],
  ])
})

t.test('RFC 9110 §13.1.3: If-Modified-Since is ignored if it is not an HTTP-date', async (t) => {
  for (const value of [
    '',
    '0',
    'tomorrow',
    '2026-11-20T10:00:01Z',
    '2026-11-20',
    `${after} `,
    'Fri, 20 Nov 2026',
  ]) {
    judges(t, [[reading, { 'if-modified-since': value }, current, go]])
  }
  judges(t, [
    [reading, { 'if-modified-since': [after] }, current, unchanged],
    [reading, { 'if-modified-since': [after, after] }, current, go],
    [reading, { 'if-modified-since': `${after}, ${after}` }, current, go],
    [reading, { 'if-modified-since': 'tomorrow' }, { lastModified: 0 }, go],
  ])
})

t.test('RFC 9110 §13.1.3: If-Modified-Since is ignored for methods other than GET and HEAD', async (t) => {
  judges(t, [
    [writing, { 'if-modified-since': before }, current, go],
    [writing, { 'if-modified-since': same }, current, go],
    [writing, { 'if-modified-since': after }, current, go],
    [['get', 'Head'], { 'if-modified-since': after }, current, go],
  ])
})

t.test('RFC 9110 §13.1.3: If-Modified-Since is ignored if no modification date is known', async (t) => {
  judges(t, [[reading, { 'if-modified-since': after }, { etag: '"v7"' }, go]])
})

t.test('RFC 9110 §13.1.4: If-Unmodified-Since is true if the date is not later', async (t) => {
  judges(t, [
    [[...reading, ...writing], { 'if-unmodified-since': before }, current, failed],
    [[...reading, ...writing], { 'if-unmodified-since': same }, current, go],
    [[...reading, ...writing], { 'if-unmodified-since': after }, current, go],
    [writing, { 'if-unmodified-since': 'Friday, 20-Nov-26 09:59:59 GMT' }, current, failed],
    [writing, { 'if-unmodified-since': 'Fri Nov 20 09:59:59 2026' }, current, failed],
  ])
})

t.test('RFC 9110 §13.1.4: If-Unmodified-Since is ignored beside If-Match', async (t) => {
  judges(t, [
    [writing, { 'if-match': '"v7"', 'if-unmodified-since': before }, current, go],
    [writing, { 'if-match': '*', 'if-unmodified-since': before }, current, go],
    [writing, { 'if-match': '"v6"', 'if-unmodified-since': after }, current, failed],
    [writing, { 'if-match': '', 'if-unmodified-since': after }, current, failed],
  ])
})

t.test('RFC 9110 §13.1.4: If-Unmodified-Since is ignored if it is not an HTTP-date', async (t) => {
  for (const value of ['', '0', 'yesterday', '2026-11-20T09:59:59Z', 'fri, 20 Nov 2026 09:59:59 GMT']) {
    judges(t, [[[...reading, ...writing], { 'if-unmodified-since': value }, current, go]])
  }
  judges(t, [
    [writing, { 'if-unmodified-since': [before] }, current, failed],
    [writing, { 'if-unmodified-since': [before, before] }, current, go],
    [writing, { 'if-unmodified-since': `${before}, ${before}` }, current, go],
  ])
})

t.test('RFC 9110 §13.1.4: If-Unmodified-Since is ignored if no modification date is known', async (t) => {
  judges(t, [
    [writing, { 'if-unmodified-since': before }, { etag: '"v7"' }, go],
    [writing, { 'if-unmodified-since': 'Wed, 31 Dec 1969 23:59:59 GMT' }, {}, go],
  ])
})

t.test('RFC 9110 §8.8.2: fractions of a second are cut off before dates are compared', async (t) => {
  for (const fraction of [0, 1, 500, 999, 999.9]) {
    judges(t, [
      [reading, { 'if-modified-since': same }, { lastModified: modified + fraction }, unchanged],
      [writing, { 'if-unmodified-since': same }, { lastModified: modified + fraction }, go],
    ])
  }
  judges(t, [
    [reading, { 'if-modified-since': same }, { lastModified: modified + 1000 }, go],
    [writing, { 'if-unmodified-since': same }, { lastModified: modified + 1000 }, failed],
    [reading, { 'if-modified-since': 'Wed, 31 Dec 1969 23:59:58 GMT' }, { lastModified: -1500 }, unchanged],
    [reading, { 'if-modified-since': 'Wed, 31 Dec 1969 23:59:57 GMT' }, { lastModified: -1500 }, go],
  ])
})

t.test('RFC 9110 §8.8.2.2: in the second of the last change a date protects no write', async (t) => {
  const verdict = (method: string, date: string, age: number) =>
    verdictOf(method, { 'if-unmodified-since': date }, current, modified + age)
  for (const method of writing) {
    for (const age of [0, 1, 999]) {
      t.equal(verdict(method, same, age), failed, `${method} after ${age} ms`)
      t.equal(verdict(method, after, age), failed, `${method} after ${age} ms, by a later date`)
    }
    t.equal(verdict(method, same, 1000), go, `${method} after a second`)
  }
  t.equal(verdict('GET', same, 0), go, 'a read loses nothing')
})

t.test('RFC 9110 §5.6.7: a two-digit year in a precondition is interpreted by the given clock', async (t) => {
  const fields = { 'if-modified-since': 'Saturday, 20-Nov-77 00:00:00 GMT' }
  t.equal(verdictOf('GET', fields, current), go, 'of 1977')
  t.equal(verdictOf('GET', fields, current, Date.parse('2030-01-01')), unchanged, 'of 2077')
})

t.test('RFC 9110 §13.2.1: OPTIONS, TRACE and CONNECT have no preconditions', async (t) => {
  const others = ['OPTIONS', 'TRACE', 'CONNECT']
  judges(t, [
    [others, { 'if-match': '"v6"' }, current, go],
    [others, { 'if-unmodified-since': before }, current, go],
    [others, { 'if-none-match': '*' }, current, go],
    [others, { 'if-modified-since': after }, current, go],
  ])
})

t.test('RFC 9110 §13.2.2: the steps, in their order, for all fields and outcomes', async (t) => {
  const outcomes = [undefined, true, false] as const
  let count = 0
  for (const method of [...reading, ...writing]) {
    for (const ifMatch of outcomes) {
      for (const ifUnmodifiedSince of outcomes) {
        for (const ifNoneMatch of outcomes) {
          for (const ifModifiedSince of outcomes) {
            const fields = fieldsOf({
              'if-match': ifMatch === undefined ? undefined : ifMatch ? '"v7"' : '"v6"',
              'if-unmodified-since':
                ifUnmodifiedSince === undefined ? undefined : ifUnmodifiedSince ? same : before,
              'if-none-match': ifNoneMatch === undefined ? undefined : ifNoneMatch ? '"v6"' : '"v7"',
              'if-modified-since':
                ifModifiedSince === undefined ? undefined : ifModifiedSince ? before : same,
            })
            const safe = method === 'GET' || method === 'HEAD'
            const fails = ifMatch === false || (ifMatch === undefined && ifUnmodifiedSince === false)
            const stored =
              ifNoneMatch === false || (safe && ifNoneMatch === undefined && ifModifiedSince === false)
            const expected = fails ? failed : stored ? (safe ? unchanged : failed) : go
            t.equal(verdictOf(method, fields, current), expected, `${method} ${JSON.stringify(fields)}`)
            count++
          }
        }
      }
    }
  }
  t.equal(count, 7 * 3 ** 4)
})

t.test(
  'RFC 9110 §13.2.2 step 1 before step 3: a stale If-Match is a 412, even if If-None-Match matches',
  async (t) => {
    judges(t, [
      [reading, { 'if-match': '"v6"', 'if-none-match': '"v7"' }, current, failed],
      [reading, { 'if-match': '"v7"', 'if-none-match': '"v7"' }, current, unchanged],
      [reading, { 'if-unmodified-since': before, 'if-none-match': '"v7"' }, current, failed],
      [reading, { 'if-unmodified-since': before, 'if-modified-since': same }, current, failed],
      [reading, { 'if-match': '*', 'if-modified-since': same }, current, unchanged],
      [writing, { 'if-match': '*', 'if-none-match': '*' }, current, failed],
      [writing, { 'if-match': '*', 'if-none-match': '*' }, null, failed],
    ])
  },
)

t.test('RFC 9110 §5.3: repeated fields, as Node.js joins them', async (t) => {
  const raw = await received([
    'If-Match: "v6"',
    'If-Match: "v7"',
    'If-None-Match: *',
    'If-None-Match: *',
    `If-Modified-Since: ${after}`,
    `If-Modified-Since: ${before}`,
    `If-Unmodified-Since: ${before}`,
    `If-Unmodified-Since: ${after}`,
  ])
  const only = (method: string, name: string) =>
    evaluatePreconditions({ method, headers: { [name]: raw.headers[name] }, raw }, current, now)
  t.equal(only('PUT', 'if-match'), go)
  t.equal(only('PUT', 'if-none-match'), failed)
  t.equal(only('GET', 'if-modified-since'), go)
  t.equal(only('PUT', 'if-unmodified-since'), go)
})

t.test('an invalid tag of validators matches nothing', async (t) => {
  for (const etag of ['v7', '', '*', 'w/"v7"', '"v7"x', '"v7", "v8"']) {
    judges(t, [
      [reading, { 'if-none-match': '"v7"' }, { etag }, go],
      [writing, { 'if-match': '"v7"' }, { etag }, failed],
    ])
  }
  judges(t, [
    [reading, { 'if-none-match': '"v7", "v8"' }, { etag: '"v7", "v8"' }, go],
    [writing, { 'if-match': '"v7", "v8"' }, { etag: '"v7", "v8"' }, failed],
  ])
})

t.test('random text in any field never throws', async () => {
  const junk = fc.oneof(
    fc.string({ unit: anyUnit, maxLength: 300 }),
    fc.string({ unit: fc.constantFrom(...'W/"*, \tGMT:0-é'), maxLength: 300 }),
  )
  const value = fc.oneof(junk, fc.array(junk, { maxLength: 3 }), fc.constant(undefined))
  const fields = fc.record({
    'if-match': value,
    'if-none-match': value,
    'if-modified-since': value,
    'if-unmodified-since': value,
  })
  const validators = fc.record({
    etag: fc.option(junk, { nil: undefined }),
    lastModified: fc.option(fc.double(), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.constantFrom('GET', 'PUT', 'OPTIONS', ''), fields, validators, (method, given, known) =>
      [go, unchanged, failed].includes(verdictOf(method, given, known)),
    ),
    { numRuns: 2000 },
  )
})

t.test('the time is linear in the length of a field', async (t) => {
  const seeds = [
    '"',
    'W/',
    'W/"',
    ',',
    ' ',
    '\t,',
    '"a',
    '"a",',
    '"" ',
    '*',
    'Sun, 06 Nov 1994 ',
    '0',
    '\\"',
    '"v7 ',
  ]
  const found = await superlinearSeeds(seeds, (value) => {
    for (const name of ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'])
      verdictOf('GET', { [name]: value }, current)
    verdictOf('PUT', { 'if-match': '"v7"' }, { etag: value, lastModified: modified })
  })
  t.strictSame(found, [])
})

/** What Node.js makes of a request with these lines. */
async function received(lines: readonly string[]): Promise<IncomingMessage> {
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = once(server, 'request')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.resume().end(['GET / HTTP/1.1', 'Host: h', ...lines, 'Connection: close', '', ''].join('\r\n'))
  const [message] = await asked
  await once(socket, 'close')
  server.close()
  return message as IncomingMessage
}

/** The verdict for a request with these fields, as Node.js reads them. */
function verdictOf(
  method: string,
  fields: RequestFields,
  validators: Validators | null,
  at: number = now,
): PreconditionVerdict {
  const headers: Record<string, string> = {}
  const rawHeaders: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    const lines = [value ?? []].flat()
    rawHeaders.push(...lines.flatMap((line) => [name, line]))
    const [first] = lines
    if (first !== undefined) headers[name] = name.endsWith('match') ? lines.join(', ') : first
  }
  return evaluatePreconditions({ method, headers, raw: { rawHeaders } }, validators, at)
}

function judges(t: Test, rows: readonly Row[]): void {
  for (const [methods, fields, validators, verdict] of rows) {
    for (const method of methods) {
      t.equal(
        verdictOf(method, fields, validators),
        verdict,
        `${method} ${JSON.stringify(fields)} of ${JSON.stringify(validators)}`,
      )
    }
  }
}

function fieldsOf(given: RequestFields): RequestFields {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
