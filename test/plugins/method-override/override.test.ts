import t from 'tap'
import { overrideOf } from '../../../src/plugins/method-override/override.js'
import type { ProblemError } from '../../../src/problem/problem-error.js'

const rules = {
  methods: ['PUT', 'PATCH', 'DELETE'],
  formOrigins: ['https://app.example'],
}
const fields = { host: 'api.example' }

t.test('header and form name one of the methods, in any case', (t) => {
  const cases: readonly (readonly [header: string | undefined, form: readonly string[], method: string])[] = [
    ['DELETE', [], 'DELETE'],
    ['delete', [], 'DELETE'],
    ['Patch', [], 'PATCH'],
    [' put ', [], 'PUT'],
    [undefined, ['PATCH'], 'PATCH'],
    [undefined, ['delete'], 'DELETE'],
    ['patch', ['PATCH'], 'PATCH'],
  ]
  for (const [header, form, method] of cases) {
    t.equal(overrideOf(header, form, fields, rules), method, `${header} and ${form}`)
  }
  t.equal(overrideOf(undefined, [], fields, rules), null, 'a POST that names no method is a POST')
  t.end()
})

t.test('any other method is refused, and the error names the header or the field', (t) => {
  const header = { in: 'header', name: 'x-http-method-override' }
  const field = { in: 'body', pointer: '/_method' }
  const cases: readonly (readonly [
    header: string | undefined,
    form: readonly string[],
    errors: unknown[],
  ])[] = [
    ['TRACE', [], [header]],
    ['CONNECT', [], [header]],
    ['GET', [], [header]],
    ['HEAD', [], [header]],
    ['OPTIONS', [], [header]],
    ['POST', [], [header]],
    ['', [], [header]],
    ['DELETE, PUT', [], [header]],
    ['DELETE,DELETE', [], [header]],
    ['DELETE\u0000', [], [header]],
    ['DELETE /v1', [], [header]],
    ['"DELETE"', [], [header]],
    ['toString', [], [header]],
    ['__proto__', [], [header]],
    ['ſ', [], [header]],
    [undefined, [''], [field]],
    [undefined, ['TRACE'], [field]],
    [undefined, ['PUT '], [field]],
    [undefined, ['PUT', 'DELETE'], [field]],
    [undefined, ['PUT', 'PUT'], [field]],
    ['TRACE', ['CONNECT'], [header, field]],
    ['DELETE', ['PUT'], [header]],
    ['DELETE', ['DELETE', 'DELETE'], [field]],
  ]
  for (const [header, form, errors] of cases) {
    const decision = overrideOf(header, form, fields, rules)
    const name = JSON.stringify([header, ...form])
    t.match(decision, { code: 'method-override-invalid', statusCode: 400, errors }, name)
    t.equal((decision as ProblemError).errors?.length, errors.length, `${name}: and no other`)
  }
  t.end()
})

t.test('a form from another origin is refused, unless the header names the same method', (t) => {
  const cases: readonly (readonly [fields: Readonly<Record<string, string>>, detail: RegExp])[] = [
    [{ 'sec-fetch-site': 'cross-site' }, /^A form from another origin cannot be performed as DELETE$/],
    [{ origin: 'null' }, /^A form from the origin null cannot /],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://b.example' }, /from the origin https:\/\/b\.example /],
  ]
  for (const [fields, detail] of cases) {
    const decide = (header: string | undefined, form: readonly string[]) =>
      overrideOf(header, form, fields, rules)
    const decision = decide(undefined, ['delete'])
    t.match(decision, {
      code: 'method-override-invalid',
      statusCode: 400,
      message: detail,
      errors: [{ in: 'body', pointer: '/_method' }],
    })
    t.equal(decide('delete', ['DELETE']), 'DELETE', 'the header took a preflight')
    t.equal(decide('delete', []), 'DELETE', 'here too')
    t.equal(decide(undefined, []), null, 'a form that names no method is a POST')
  }
  const named = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' }
  t.equal(overrideOf(undefined, ['PUT'], named, rules), 'PUT')
  t.end()
})

t.test('the detail quotes what the header and the form say', (t) => {
  const cases: readonly (readonly [header: string | undefined, form: readonly string[], detail: string])[] = [
    [undefined, ['TRACE'], "A POST cannot be performed as 'TRACE'"],
    ['TRACE', ['CONNECT'], "A POST cannot be performed as 'TRACE' and 'CONNECT'"],
    ['PUT', ['DELETE'], "A POST cannot be performed as 'PUT' and 'DELETE'"],
  ]
  for (const [header, form, detail] of cases) {
    t.match(overrideOf(header, form, fields, rules), { message: detail })
  }
  t.end()
})

t.test('the detail quotes a bounded part of the request', (t) => {
  const refusals = [
    overrideOf('X'.repeat(5000), ['Y'.repeat(5000)], fields, rules),
    overrideOf(undefined, ['PUT'], { origin: 'Z'.repeat(5000) }, rules),
  ]
  for (const refusal of refusals) t.ok((refusal as ProblemError).message.length < 150)
  t.end()
})
