/** RFC 9110 §13: preconditions, one table per clause that binds an origin server. */
import t from 'tap'
import type { RequestFields } from '../../../src/http/header-fields.js'
import {
  evaluatePreconditions,
  type PreconditionVerdict,
  type Validators,
} from '../../../src/plugins/caching/preconditions.js'
import { superlinearSeeds } from '../../support/growth.js'

const now = Date.parse('2026-11-20T12:00:00Z')
const modified = Date.parse('2026-11-20T10:00:00Z')
const before = 'Fri, 20 Nov 2026 09:59:59 GMT'
const same = 'Fri, 20 Nov 2026 10:00:00 GMT'
const after = 'Fri, 20 Nov 2026 10:00:01 GMT'

const current: Validators = { etag: '"v7"', lastModified: modified }
const dated: Validators = { lastModified: modified }
const weak: Validators = { etag: 'W/"v7"' }
const reading = ['GET', 'HEAD'] as const
const writing = ['PUT', 'PATCH', 'DELETE', 'POST', 'PURGE'] as const
const all = [...reading, ...writing] as const
const others = ['OPTIONS', 'TRACE', 'CONNECT'] as const
const [go, unchanged, failed] = ['proceed', 'not-modified', 'precondition-failed'] as const

type Row = readonly [
  methods: readonly string[],
  fields: RequestFields,
  validators: Validators | null,
  verdict: PreconditionVerdict,
]

const matches = (value: string): Row => [all, { 'if-match': value }, current, go]
const matchesNot = (value: string): Row => [all, { 'if-match': value }, current, failed]

const rules: Readonly<Record<string, readonly Row[]>> = {
  'RFC 9110 §13.2.2 step 6: a request without preconditions is performed': [
    [all, {}, {}, go],
    [all, {}, null, go],
    [all, { etag: '"v7"', 'last-modified': same, range: 'bytes=0-1' }, current, go],
  ],
  'RFC 9110 §13.1.1 (1): If-Match: * is true if and only if there is a representation': [
    ...['*', ' *', '*\t'].map(matches),
    [all, { 'if-match': '*' }, {}, go],
    [all, { 'if-match': '*' }, null, failed],
  ],
  'RFC 9110 §13.1.1 (2): If-Match is true if one of its tags matches': [
    ...[',"v7" ,, "v8",', '"v7" ', ' , , "v7"', 'W/"a"\t,\t"v7"', '"v6,", "v7"', '",","v7"'].map(matches),
    [all, { 'if-match': '""' }, { etag: '""' }, go],
  ],
  'RFC 9110 §13.1.1 (3): otherwise If-Match is false, on GET too': [
    ...['"V7"', '"v6", "v8"', '"v6,v7"', '"*"', '', ' , '].map(matchesNot),
    [all, { 'if-match': '"v7"' }, null, failed],
    [all, { 'if-match': '"v7"' }, dated, failed],
  ],
  'RFC 9110 §13.1.1: If-Match is compared strongly, so a weak tag never matches': [
    [all, { 'if-match': 'W/"v7"' }, current, failed],
    [all, { 'if-match': '"v7"' }, weak, failed],
    [all, { 'if-match': 'W/"v7"' }, weak, failed],
    [all, { 'if-match': 'W/"v7", "v7"' }, current, go],
    [all, { 'if-match': '*' }, weak, go],
  ],
  'RFC 9110 §13.1.1 (3): an If-Match that is neither * nor a list is false': [
    ...['v7', 'w/"v7"', '"v7', '*, "v7"', '"v7", *', '*, *', '"v7" "v8"', '"v7"; a', same].map(matchesNot),
    ...['**', '*,', ',*', '* "v7"', 'W/*', '"*', '*"'].map(matchesNot),
    ...['"v7", b', 'a, "v7"', '"v7", "b', '"v7", "b c"', '"v7", \u00a0"b"'].map(matchesNot),
    ...['"v7"\n,"b"', '"v7"W/"b"'].map(matchesNot),
    [writing, { 'if-match': 'v7' }, { etag: 'v7' }, failed],
  ],
  'RFC 9110 §5.3: several lines of If-Match or If-None-Match are one list': [
    [writing, { 'if-match': ['"v6"', '"v7"'] }, current, go],
    [writing, { 'if-match': ['"v6"', '"v8"'] }, current, failed],
    [reading, { 'if-none-match': ['"v6"', '"v7"'] }, current, unchanged],
    [reading, { 'if-none-match': ['"v6"', '"v8"'] }, current, go],
    [writing, { 'if-none-match': ['*', '*'] }, current, failed],
  ],
  'RFC 9110 §13.1.2 (1): If-None-Match: * is false if and only if there is a representation': [
    [reading, { 'if-none-match': '*' }, current, unchanged],
    [reading, { 'if-none-match': '*' }, {}, unchanged],
    [writing, { 'if-none-match': '*' }, current, failed],
    [all, { 'if-none-match': '*' }, null, go],
  ],
  'RFC 9110 §13.1.2 (2): If-None-Match is false if one of its tags matches': [
    [reading, { 'if-none-match': ',"v6","v7",,' }, current, unchanged],
    [writing, { 'if-none-match': '"v6", "v7"' }, current, failed],
  ],
  'RFC 9110 §13.1.2 (3): otherwise If-None-Match is true': [
    ...['"V7"', '"v6,", ",v7"', '"*"', '', ','].map(
      (value): Row => [all, { 'if-none-match': value }, current, go],
    ),
    [all, { 'if-none-match': '"v7"' }, dated, go],
  ],
  'RFC 9110 §13.1.2: If-None-Match is compared weakly': [
    [reading, { 'if-none-match': '"v7"' }, weak, unchanged],
    [reading, { 'if-none-match': 'W/"v7"' }, weak, unchanged],
    [reading, { 'if-none-match': '"v6", W/"v7"' }, current, unchanged],
    [writing, { 'if-none-match': 'W/"v7"' }, current, failed],
    [reading, { 'if-none-match': 'W/"v6"' }, current, go],
  ],
  'RFC 9110 §2.4, §13.1.2: an invalid If-None-Match gets a 200 for a read, and a 412 for a write': [
    ...['v7', 'w/"v7"', '"v7', '*, "v7"', '*, *', '"v7" "v8"', '"v7" junk'].flatMap((value): Row[] => [
      [reading, { 'if-none-match': value }, current, go],
      [writing, { 'if-none-match': value }, current, failed],
      [writing, { 'if-none-match': value }, null, failed],
    ]),
    [reading, { 'if-none-match': 'v7' }, { etag: 'v7' }, go],
    [reading, { 'if-none-match': 'v7', 'if-modified-since': after }, current, go],
  ],
  'RFC 9110 §13.1.3: If-Modified-Since is false if the date is not later': [
    [reading, { 'if-modified-since': after }, current, unchanged],
    [reading, { 'if-modified-since': 'Sat, 20 Nov 2027 10:00:00 GMT' }, current, unchanged],
    [reading, { 'if-modified-since': 'Friday, 20-Nov-26 10:00:00 GMT' }, current, unchanged],
    [reading, { 'if-modified-since': 'Fri Nov 20 09:59:59 2026' }, current, go],
  ],
  'RFC 9110 §13.1.3: If-Modified-Since is ignored beside If-None-Match, whatever that is': [
    [reading, { 'if-none-match': '', 'if-modified-since': after }, current, go],
    [reading, { 'if-none-match': '"v7"', 'if-modified-since': after }, dated, go],
  ],
  'RFC 9110 §13.1.3: If-Modified-Since is ignored if it is not one HTTP-date, and without a date to compare':
    [
      ...['', '0', 'tomorrow', '2026-11-20T10:00:01Z', `${after} `, `${after}, ${after}`, [after, after]].map(
        (value): Row => [reading, { 'if-modified-since': value }, current, go],
      ),
      [reading, { 'if-modified-since': 'tomorrow' }, { lastModified: 0 }, go],
      [reading, { 'if-modified-since': after }, { etag: '"v7"' }, go],
    ],
  'RFC 9110 §13.1.3: If-Modified-Since is ignored for methods other than GET and HEAD': [
    [[...writing, 'get', 'Head'], { 'if-modified-since': after }, current, go],
  ],
  'RFC 9110 §13.1.4: If-Unmodified-Since is true if the date is not later': [
    [all, { 'if-unmodified-since': after }, current, go],
    [writing, { 'if-unmodified-since': 'Friday, 20-Nov-26 09:59:59 GMT' }, current, failed],
  ],
  'RFC 9110 §13.1.4: If-Unmodified-Since is ignored if it is not one HTTP-date, and without a date to compare':
    [
      ...['', '2026-11-20T09:59:59Z', `${before}, ${before}`, [before, before]].map(
        (value): Row => [all, { 'if-unmodified-since': value }, current, go],
      ),
      [writing, { 'if-unmodified-since': 'Wed, 31 Dec 1969 23:59:59 GMT' }, { etag: '"v7"' }, go],
    ],
  'RFC 9110 §8.8.2: fractions of a second are cut off before dates are compared': [
    ...[1, 999.9].flatMap((fraction): Row[] => [
      [reading, { 'if-modified-since': same }, { lastModified: modified + fraction }, unchanged],
      [writing, { 'if-unmodified-since': same }, { lastModified: modified + fraction }, go],
    ]),
    [reading, { 'if-modified-since': same }, { lastModified: modified + 1000 }, go],
    [writing, { 'if-unmodified-since': same }, { lastModified: modified + 1000 }, failed],
    [reading, { 'if-modified-since': 'Wed, 31 Dec 1969 23:59:58 GMT' }, { lastModified: -1500 }, unchanged],
    [reading, { 'if-modified-since': 'Wed, 31 Dec 1969 23:59:57 GMT' }, { lastModified: -1500 }, go],
  ],
  'RFC 9110 §13.2.1: OPTIONS, TRACE and CONNECT have no preconditions': [
    [others, { 'if-match': '"v6"' }, current, go],
    [others, { 'if-unmodified-since': before }, current, go],
    [others, { 'if-none-match': '*' }, current, go],
    [others, { 'if-modified-since': after }, current, go],
  ],
  'RFC 9110 §13.2.2: If-Match: * and If-None-Match: * never both hold': [
    [writing, { 'if-match': '*', 'if-none-match': '*' }, current, failed],
    [writing, { 'if-match': '*', 'if-none-match': '*' }, null, failed],
  ],
  'an invalid tag of validators matches nothing': [
    ...['v7', '', '*', 'w/"v7"', '"v7"x', '"v7", "v8"'].flatMap((etag): Row[] => [
      [reading, { 'if-none-match': '"v7"' }, { etag }, go],
      [writing, { 'if-match': '"v7", "v8"' }, { etag }, failed],
    ]),
    [reading, { 'if-none-match': '"v7", "v8"' }, { etag: '"v7", "v8"' }, go],
  ],
}

for (const [rule, rows] of Object.entries(rules)) {
  t.test(rule, async (t) => {
    for (const [methods, fields, validators, verdict] of rows) {
      for (const method of methods) {
        const about = `${method} ${JSON.stringify(fields)} of ${JSON.stringify(validators)}`
        t.equal(verdictOf(method, fields, validators), verdict, about)
      }
    }
  })
}

t.test('RFC 9110 §8.8.2.2: in the second of the last change a date protects no write', async (t) => {
  for (const [methods, date, age, verdict] of [
    [writing, same, 0, failed],
    [writing, same, 999, failed],
    [writing, after, 999, failed],
    [writing, same, 1000, go],
    [reading, same, 0, go],
  ] as const) {
    for (const method of methods) {
      const given = verdictOf(method, { 'if-unmodified-since': date }, current, modified + age)
      t.equal(given, verdict, `${method} of ${date} after ${age} ms`)
    }
  }
})

t.test('RFC 9110 §5.6.7: a two-digit year in a precondition is interpreted by the given clock', async (t) => {
  const fields = { 'if-modified-since': 'Saturday, 20-Nov-77 00:00:00 GMT' }
  t.equal(verdictOf('GET', fields, current), go, 'of 1977')
  t.equal(verdictOf('GET', fields, current, Date.parse('2030-01-01')), unchanged, 'of 2077')
})

t.test('RFC 9110 §13.2.2: the steps, in their order, for all fields and outcomes', async (t) => {
  const outcomes = [undefined, true, false]
  // The numbers from 0 to 80, to the base 3.
  const combinations = Array.from({ length: 3 ** 4 }, (_, number) =>
    [1, 3, 9, 27].map((place) => outcomes[Math.floor(number / place) % 3]),
  )
  for (const method of all) {
    for (const [match, unmodified, noneMatch, modified] of combinations) {
      const fields = {
        ...(match !== undefined && { 'if-match': match ? '"v7"' : '"v6"' }),
        ...(unmodified !== undefined && { 'if-unmodified-since': unmodified ? same : before }),
        ...(noneMatch !== undefined && { 'if-none-match': noneMatch ? '"v6"' : '"v7"' }),
        ...(modified !== undefined && { 'if-modified-since': modified ? before : same }),
      }
      const reads = method === 'GET' || method === 'HEAD'
      const fails = match === false || (match === undefined && unmodified === false)
      const isCurrent = noneMatch === false || (reads && noneMatch === undefined && modified === false)
      const expected = fails || (isCurrent && !reads) ? failed : isCurrent ? unchanged : go
      t.equal(verdictOf(method, fields, current), expected, `${method} ${JSON.stringify(fields)}`)
    }
  }
})

t.test('the time is linear in the length of a field', async (t) => {
  const parts = ['"', 'W/', 'W/"', ',', ' ', '\t,', '*', '0', '\\"']
  const seeds = [...parts, '"a', '"a",', '"" ', 'Sun, 06 Nov 1994 ', '"v7 ']
  const found = await superlinearSeeds(seeds, (value) => {
    for (const name of ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'])
      verdictOf('GET', { [name]: value }, current)
    verdictOf('PUT', { 'if-match': '"v7"' }, { etag: value, lastModified: modified })
  })
  t.strictSame(found, [])
})

/** The verdict for a request with these fields, as Node.js reads them. */
function verdictOf(method: string, fields: RequestFields, validators: Validators | null, at = now) {
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
