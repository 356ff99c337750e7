/** The registry of codes, with `docs/errors.md` in step; RFC 9457 §3.1 (members of a document), §3.2 (extensions). */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { bootErrors } from '../../src/boot-errors.js'
import { statusTitle } from '../../src/http/status.js'
import { each } from '../../src/options.js'
import { pathBreaches } from '../../src/plugins/path-guard/path-rules.js'
import {
  isProblemError,
  ProblemError,
  problemDocument,
  problemMediaType,
  problemTypes,
  serverFaultDetail,
} from '../../src/problem/problem-error.js'
import { defaultStyle } from '../../src/problem/send-problem.js'
import type { Finding } from '../../src/report/findings.js'
import { findingsTable } from '../../src/report/format-report.js'

const brand = Symbol.for('fastify-conventions.problem')

const ofStatus = [
  ...['not-found', 'method-not-allowed', 'not-acceptable', 'request-timeout', 'uri-too-long'],
  ...['content-too-large', 'unsupported-media-type', 'internal-server-error'],
]

t.test('a problem of the registry needs only its code', async (t) => {
  for (const [code, { status, title }] of Object.entries(problemTypes)) {
    t.match(code, /^[a-z]+(-[a-z]+)*$/, `${code}: in lower-kebab case`)
    t.ok(Number.isInteger(status) && status >= 400 && status <= 599, `${code}: an error status`)
    t.match(title, /^[A-Z][A-Za-z ]+$/, `${code}: no full stop`)
    if (ofStatus.includes(code)) t.equal(title, statusTitle(status), `${code}: the phrase of the status`)
    const error = new ProblemError(code)
    t.match(error, { name: 'ProblemError', code, statusCode: status, title, message: title }, code)
    t.equal(/\n {4}at /.test(error.stack ?? ''), status >= 500, `${code}: a stack for faults of the server`)
    t.ok(error instanceof Error)
  }
})

t.test('a problem may have detail, errors, headers and extensions', async (t) => {
  const errors = [{ in: 'query', name: 'limit', message: 'must be a positive integer' }] as const
  const cause = new Error('why')
  const own = { headers: { allow: 'GET' }, extensions: { balance: 30 }, title: 'No', errors, cause }
  const error = new ProblemError('validation', { ...own, detail: 'limit is negative', status: 422 })
  t.match(error, { ...own, message: 'limit is negative', statusCode: 422 })
  t.strictSame([error.headers, error.extensions], [own.headers, own.extensions])
  const many = Array.from({ length: 60 }, () => errors[0])
  t.strictSame(new ProblemError('validation', { errors: many }).errors, many.slice(0, 50), 'bounded')
  const plain = new ProblemError('not-found')
  t.strictSame([plain.errors, plain.headers, plain.extensions], [undefined, undefined, undefined])
  t.notOk('cause' in plain, 'without a cause, the error has no member `cause`')
})

t.test('the title of a code of the app is the code in words; it needs an error status', async (t) => {
  t.match(new ProblemError('not-retryable', { status: 409 }), { title: 'Not retryable', statusCode: 409 })
  t.match(new ProblemError('constructor', { status: 409 }), { title: 'Constructor', statusCode: 409 })
  for (const status of [undefined, 399, 600, 404.5, Number.NaN])
    t.match(new ProblemError('mine', { status }), { statusCode: 500, code: 'mine' }, String(status))
  t.match(new ProblemError('constructor', {}), { statusCode: 500 })
  t.match(new ProblemError('not-found', { status: 200 }), { statusCode: 404 })
})

t.test('invalid arguments are corrected, and are not a second error', async (t) => {
  const invalid = { title: 42, detail: {}, errors: 'x', headers: 7, extensions: [] }
  const none = { title: 'Not found', message: 'Not found', errors: undefined, headers: undefined }
  for (const [code, options, expected] of [
    ['A b<>"', { status: 409 }, { code: 'a-b' }],
    ['E_FUNDS', { status: 409 }, { code: 'e-funds' }],
    ['', { status: 409 }, { code: 'conflict' }],
    [undefined, { status: 409 }, { code: 'conflict' }],
    ['x'.repeat(200), { status: 409 }, { code: 'conflict' }],
    ['funds', null, { code: 'funds', statusCode: 500 }],
    ['funds', { status: '409' }, { code: 'funds', statusCode: 500 }],
    ['not-found', invalid, { statusCode: 404, ...none, extensions: undefined }],
  ] as const)
    t.match(new ProblemError(code as string, options as object), expected, `${code}`.slice(0, 20))
})

t.test('isProblemError() recognizes errors of each copy of the package', async (t) => {
  t.ok(isProblemError(new ProblemError('not-found')))
  t.ok(isProblemError({ [brand]: true }))
  t.equal(Reflect.get(new ProblemError('not-found'), brand), true)
  t.notOk(isProblemError({ code: 'not-found', statusCode: 404 }))
  fc.assert(fc.property(fc.anything(), (value) => !isProblemError(value)))
})

t.test('boot errors: prefixed codes, status 500, messages with any argument', async (t) => {
  for (const [code, BootError] of Object.entries(bootErrors)) {
    const error: Error = new (BootError as new (...texts: string[]) => Error)(...Array(3).fill('100%s %d'))
    t.match(error, { code, statusCode: 500, name: 'FastifyError' }, code)
    t.match(code, /^FST_CONV_[A-Z_]+$/)
    t.ok(error instanceof BootError && error.message.includes('100%s %d'), error.message)
    t.equal(error instanceof TypeError, code.includes('_OPTION_'), code)
  }
  t.ok(Object.isFrozen(bootErrors) && Object.isFrozen(problemTypes))
})

const base = 'https://api.example/problems#'

t.test('the media type has no parameters (RFC 9457 §6.1); the members have a fixed order', async (t) => {
  t.equal(problemMediaType, 'application/problem+json')
  const error = new ProblemError('validation', {
    detail: 'the age is negative',
    errors: [{ in: 'body', pointer: '/age', message: 'must be >= 0' }],
  })
  t.equal(
    JSON.stringify(problemDocument(error, defaultStyle.typeBase, 'req-7')),
    '{"type":"urn:problem-type:fastify-conventions:validation","title":"Invalid input","status":400,' +
      '"detail":"the age is negative","instance":"urn:request:req-7","code":"validation",' +
      '"errors":[{"in":"body","pointer":"/age","message":"must be >= 0"}]}',
  )
  const bare = { type: `${base}not-found`, title: 'Not found', status: 404, detail: 'Not found' }
  const about = 'without request id no instance; without detail the title'
  t.strictSame(problemDocument(new ProblemError('not-found'), base), { ...bare, code: 'not-found' }, about)
})

t.test('extensions do not replace members of the document (RFC 9457 §3.2)', async (t) => {
  const errors = [{ in: 'query', name: 'limit', message: 'is negative' }] as const
  const members = ['type', 'title', 'status', 'detail', 'instance', 'code', 'errors']
  const extensions = { ...Object.fromEntries(members.map((name) => [name, 'x'])), state: 'succeeded' }
  const documentWith = (more: object) =>
    problemDocument(new ProblemError('not-retryable', { status: 409, errors, ...more }), base, 'r')
  t.strictSame(Object.keys(documentWith({})), members)
  t.strictSame(documentWith({ extensions }), { state: 'succeeded', ...documentWith({}) })
})

t.test('the document of a 5xx has no cause; 5xx problems of the package keep their detail', async (t) => {
  const secret = 'connect ECONNREFUSED 10.0.0.7:5432'
  for (const [code, status, detail] of [
    ['internal-server-error', 500, serverFaultDetail],
    ['internal-server-error', 503, serverFaultDetail],
    ['bad-gateway', 502, serverFaultDetail],
    ['mine', 599, serverFaultDetail],
    ['server-closing', 503, secret],
    ['handler-timeout', 503, secret],
  ] as const) {
    const document = problemDocument(new ProblemError(code, { status, detail: secret }), base, 'r')
    t.equal(document.detail, detail, `${code} ${status}`)
    if (detail !== secret) t.notMatch(JSON.stringify(document), 'ECONNREFUSED')
  }
})

t.test('the instance is a URI with the request id', async (t) => {
  const occurrence = (id: string): string =>
    problemDocument(new ProblemError('not-found'), base, id).instance ?? ''
  const wellFormed = fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => id.isWellFormed())
  fc.assert(
    fc.property(wellFormed, (id) => {
      const uri = occurrence(id)
      return /^urn:request:[\x21-\x7e]+$/.test(uri) && decodeURIComponent(uri.slice(12)) === id
    }),
  )
  t.equal(occurrence('x'.repeat(201)), `urn:request:${'x'.repeat(200)}`)
  const units = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  fc.assert(fc.property(units, (id) => URL.canParse(occurrence(id))))
})

const docs = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const problemDocs = chapter('Problem codes')
const bootDocs = chapter('Boot errors')

t.test('docs/errors.md: a section for each problem code, in the order of the registry', async (t) => {
  const sections = sectionsOf(problemDocs)
  t.same([...sections.keys()], Object.keys(problemTypes))
  for (const [code, { status, title }] of Object.entries(problemTypes)) {
    const section = sections.get(code) ?? ''
    t.ok(section.startsWith(`**${status} ${title}.** `), `${code}: status and title`)
    t.match(section, /\*\*Do:\*\*\s\S/, `${code}: what the client should do`)
  }
})

t.test('docs/errors.md: a section for each boot error, and no other', async (t) => {
  const sections = sectionsOf(bootDocs)
  t.same([...sections.keys()], Object.keys(bootErrors))
  for (const [code, section] of sections) t.match(section, /\*\*Fix:\*\*\s\S/, `${code}: how to fix it`)
})

t.test('docs/errors.md: the table of findings is that of the rules', async (t) => {
  const names = ['collections', 'verbs', 'selfAliases'] as const
  const vocabulary = each(names, new Set<string>())
  const findings = ['/v1/user/:id', '/v1/users/list'].flatMap((path) =>
    pathBreaches(['GET'], path, vocabulary).map((breach): Finding => {
      const common = { plugin: 'pathGuard', mode: 'enforce', effect: 'boot stopped' } as const
      return { ...common, route: `GET ${path}`, ...breach }
    }),
  )
  t.ok(docs.includes(`2 breaches of conventions in 2 routes\n\n${findingsTable(findings)}\n`))
})

t.test('docs/errors.md: every code in the page exists', async (t) => {
  const unknown = [...docs.matchAll(/\bFST_CONV_\w+/g)].filter(([code]) => !Object.hasOwn(bootErrors, code))
  t.same(unknown, [])
})

function chapter(title: string): string {
  return docs.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? ''
}

function sectionsOf(text: string): Map<string, string> {
  const sections = text.split(/^### /m).slice(1)
  return new Map(sections.map((section) => [section.split('\n', 1)[0] ?? '', section.replace(/^.*\n\n/, '')]))
}
