/** What a POST is performed as (decisions §2). */
import t from 'tap'
import { overrideDecision } from '../../../src/http/method-override/override-decision.js'

const rules = { methods: ['PUT', 'PATCH', 'DELETE'], header: 'x-http-method-override', field: '_method' }

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
    t.match(overrideDecision({ header, form }, rules), { method, refusal: null }, `${header} and ${form}`)
  }
  t.equal(
    overrideDecision({ header: undefined, form: [] }, rules),
    null,
    'a POST that says nothing is a POST',
  )
  t.end()
})

t.test('all else is refused, and the answer names the place', (t) => {
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
    const decision = overrideDecision({ header, form }, rules)
    const name = JSON.stringify([header, ...form])
    t.equal(decision?.method, null, name)
    t.match(decision?.refusal, { code: 'method-override-invalid', statusCode: 400, errors }, name)
    t.equal(decision?.refusal?.errors?.length, errors.length, `${name}: and no other`)
  }
  t.end()
})

t.test('the detail quotes no more than a line of what came', (t) => {
  const decision = overrideDecision({ header: 'X'.repeat(5000), form: ['Y'.repeat(5000)] }, rules)
  t.ok((decision?.refusal?.message.length ?? 999) < 150)
  t.end()
})
