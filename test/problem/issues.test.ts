/** The `errors` of a validation problem; RFC 6901 (JSON Pointer). */
import fc from 'fast-check'
import t from 'tap'
import { boundedIssues, IssueList, isDefaultMessage, validationIssues } from '../../src/problem/issues.js'
import type { ProblemIssue } from '../../src/problem/problem-error.js'

type SchemaFault = Readonly<Record<string, unknown>>

const issue = (pointer: string, message = 'is wrong'): ProblemIssue => ({ in: 'body', pointer, message })

t.test('faults of a body have a JSON Pointer (RFC 6901)', async (t) => {
  const pattern = { keyword: 'pattern', message: 'must match "^[A-Z]+$"', params: { pattern: '^[A-Z]+$' } }
  const params = { unevaluatedProperty: 'x' }
  const letters = Array.from('abcdefghijklmnopqrst').join(', ')
  const rows: readonly (readonly [fault: unknown, pointer: string, message: string])[] = [
    [{ instancePath: '', message: 'must be object' }, '', 'must be object'],
    [{ instancePath: '/items/0/sku', message: 'must be string' }, '/items/0/sku', 'must be string'],
    [missing('', 'name'), '/name', 'is required'],
    [missing('', 'a/b~c'), '/a~1b~0c', 'is required'],
    [missing('', ''), '/', 'is required'],
    [unknown('', 'extra'), '/extra', 'is not known here'],
    [unknown('/address', 'zip'), '/address/zip', 'is not known here'],
    [{ instancePath: '', keyword: 'unevaluatedProperties', params }, '/x', 'is not known here'],
    [oneOf('/status', ['pending', 'paid', 3]), '/status', 'must be one of pending, paid, 3'],
    [oneOf('', [{ a: 2n ** 60n }, 'b']), '', 'must be one of {"a":1152921504606846976}, b'],
    [oneOf('', Array.from('abcdefghijklmnopqrstu')), '', `must be one of ${letters}`],
    [{ keyword: 'const', params: { allowedValue: 'v1' } }, '', 'must be v1'],
    [{ ...pattern, instancePath: '/sku' }, '/sku', 'must match the required pattern'],
    [{ instancePath: '/tags', message: 'too long', propertyName: 'a/b' }, '/tags/a~1b', 'too long'],
    [{ instancePath: '/tags', message: 'too long', params: { propertyName: 'a' } }, '/tags/a', 'too long'],
    [{ keyword: 'enum', message: 'must be equal', params: {} }, '', 'must be equal'],
    [{ message: 'must be right', params: { allowedValues: ['a'] } }, '', 'must be right'],
    [{ message: 'must be short', params: { pattern: '^a$' } }, '', 'must be short'],
    [{ keyword: 'false schema' }, '', 'is invalid'],
    [{ instancePath: 7, message: 7 }, '', 'is invalid'],
    ['a text of another validator', '', 'a text of another validator'],
  ]
  for (const [fault, pointer, message] of rows) {
    t.strictSame(validationIssues([fault], 'body'), [{ in: 'body', pointer, message }], message)
  }
})

t.test('a fault of TypeBox may name several members; one as a schema `false` repeats another', async (t) => {
  for (const name of ['requiredProperties', 'additionalProperties', 'unevaluatedProperties']) {
    const fault = { instancePath: '/x', message: 'is wrong', params: { [name]: ['a', 7, 'b'] } }
    t.strictSame(validationIssues([fault, { keyword: 'boolean' }], 'body'), [issue('/x/a'), issue('/x/b')])
  }
})

t.test('the message that Fastify makes of faults is known', async (t) => {
  const fault = { instancePath: '/age', message: 'must be >= 0' }
  for (const message of ['body/age must be >= 0', 'body/age must be >= 0, body must be object'])
    t.equal(isDefaultMessage(message, [fault], 'body'), true)
  t.equal(isDefaultMessage(' must be >= 0', [{ message: 'must be >= 0' }]), true)
  t.equal(isDefaultMessage('not body/age must be >= 0', [fault], 'body'), false)
})

t.test('faults of other parts have the name of the parameter or field', async (t) => {
  const rows: readonly (readonly [part: string, fault: SchemaFault, place: string])[] = [
    ['params', at('/id'), 'path id is wrong'],
    ['headers', missing('', 'x-a'), 'header x-a is required'],
    ['querystring', at('/ids/0'), 'query ids is wrong'],
    ['querystring', unknown('', 'a/b'), 'query a/b is not known here'],
    ['querystring', at('/~01'), 'query ~1 is wrong'],
  ]
  for (const [part, fault, place] of rows) {
    const [issue] = validationIssues([fault], part)
    t.equal(issue?.in === 'body' ? '' : `${issue?.in} ${issue?.name} ${issue?.message}`, place)
  }
})

t.test('an unknown part counts as the body', async (t) => {
  for (const part of [undefined, '', 'response', 'constructor', '__proto__'])
    t.strictSame(validationIssues([at('/x')], part), [issue('/x')], String(part))
})

t.test('any member name: the pointer leads to it (RFC 6901 §4), the name is it', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (member) => {
      const [inBody] = validationIssues([missing('', member)], 'body')
      const [inQuery] = validationIssues([missing('', member)], 'querystring')
      const found = resolve({ [member]: 'found' }, inBody?.in === 'body' ? inBody.pointer : 'none')
      return found === 'found' && inQuery?.in === 'query' && inQuery.name === member
    }),
  )
})

function at(instancePath: string): SchemaFault {
  return { instancePath, keyword: 'format', message: 'is wrong' }
}

function missing(instancePath: string, missingProperty: string): SchemaFault {
  return { instancePath, keyword: 'required', message: 'must have it', params: { missingProperty } }
}

function unknown(instancePath: string, additionalProperty: string): SchemaFault {
  return { instancePath, keyword: 'additionalProperties', message: 'not', params: { additionalProperty } }
}

function oneOf(instancePath: string, allowedValues: readonly unknown[]): SchemaFault {
  return { instancePath, keyword: 'enum', message: 'must be equal', params: { allowedValues } }
}

/** The value at a JSON Pointer, read as RFC 6901 §4 says. */
function resolve(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'))
    .reduce((whole, name) => new Map(Object.entries(whole as object)).get(name), value)
}

t.test('50 issues of ordinary length are kept as they are, and no more', async (t) => {
  const given = Array.from({ length: 60 }, (_, index) => issue(`/items/${index}/quantity`, 'x'.repeat(100)))
  t.strictSame(boundedIssues(given), given.slice(0, 50))
  t.strictSame(boundedIssues([{ ...issue('/a'), extra: 7 } as never]), [issue('/a')], 'texts only')
  const list = new IssueList()
  t.equal(list.isFull, false)
  for (const one of given) list.add(one)
  t.strictSame([list.isFull, list.issues], [true, given.slice(0, 50)])
})

t.test('a long text is cut, and the issue that exceeds the total is the last', async (t) => {
  const long = 'k'.repeat(9_000)
  const kept = boundedIssues([issue(`/${long}`), issue('/a', long), issue('/b')])
  t.match(kept, [{ pointer: /^\/k{299}…$/ }, { message: /^k{300}…$/ }])
  t.equal(kept.length, 2)
  t.equal(boundedIssues([issue('k'.repeat(1_000_000))]).length, 1)
})
