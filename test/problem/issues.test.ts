/** The `errors` of a validation problem; RFC 6901 (JSON Pointer). */
import fc from 'fast-check'
import t from 'tap'
import { boundedIssues, IssueList, textOfIssues, validationIssues } from '../../src/problem/issues.js'
import type { ProblemIssue } from '../../src/problem/problem-error.js'

type SchemaFault = Readonly<Record<string, unknown>>

t.test('faults of a body have a JSON Pointer (RFC 6901)', async (t) => {
  const rows: readonly (readonly [fault: SchemaFault, pointer: string, message: string])[] = [
    [{ instancePath: '', keyword: 'type', message: 'must be object' }, '', 'must be object'],
    [{ instancePath: '/age', keyword: 'minimum', message: 'must be >= 0' }, '/age', 'must be >= 0'],
    [
      { instancePath: '/items/0/sku', keyword: 'type', message: 'must be string' },
      '/items/0/sku',
      'must be string',
    ],
    [missing('', 'name'), '/name', 'is required'],
    [missing('/items/3', 'sku'), '/items/3/sku', 'is required'],
    [missing('', 'a/b~c'), '/a~1b~0c', 'is required'],
    [missing('', ''), '/', 'is required'],
    [unknown('', 'extra'), '/extra', 'is not known here'],
    [unknown('/address', 'zip'), '/address/zip', 'is not known here'],
    [oneOf('/status', ['pending', 'paid', 3]), '/status', 'must be one of pending, paid, 3'],
    [{ keyword: 'const', params: { allowedValue: 'v1' } }, '', 'must be v1'],
    [
      {
        instancePath: '/sku',
        keyword: 'pattern',
        message: 'must match pattern "^[A-Z]+$"',
        params: { pattern: '^[A-Z]+$' },
      },
      '/sku',
      'must match the required pattern',
    ],
    [
      {
        instancePath: '/tags',
        keyword: 'maxLength',
        message: 'must NOT have more than 3 characters',
        propertyName: 'a/b',
      },
      '/tags/a~1b',
      'must NOT have more than 3 characters',
    ],
    [{ keyword: 'false schema' }, '', 'is invalid'],
    [{ instancePath: 7, message: 7 }, '', 'is invalid'],
  ]
  for (const [fault, pointer, message] of rows) {
    t.strictSame(validationIssues([fault], 'body'), [{ in: 'body', pointer, message }], JSON.stringify(fault))
  }
})

t.test('faults of other parts have the name of the parameter or field', async (t) => {
  const rows: readonly (readonly [part: string, fault: SchemaFault, issue: ProblemIssue])[] = [
    ['querystring', at('/limit'), { in: 'query', name: 'limit', message: 'is wrong' }],
    ['querystring', at('/ids/0'), { in: 'query', name: 'ids', message: 'is wrong' }],
    ['querystring', missing('', 'q'), { in: 'query', name: 'q', message: 'is required' }],
    ['querystring', unknown('', 'a/b'), { in: 'query', name: 'a/b', message: 'is not known here' }],
    ['querystring', at('/a~1b~0c'), { in: 'query', name: 'a/b~c', message: 'is wrong' }],
    ['querystring', at('/~01'), { in: 'query', name: '~1', message: 'is wrong' }],
    ['params', at('/id'), { in: 'path', name: 'id', message: 'is wrong' }],
    [
      'headers',
      missing('', 'x-requested-with'),
      { in: 'header', name: 'x-requested-with', message: 'is required' },
    ],
  ]
  for (const [part, fault, issue] of rows) {
    t.strictSame(validationIssues([fault], part), [issue], `${part} ${JSON.stringify(fault)}`)
  }
})

t.test('an unknown part counts as the body', async (t) => {
  for (const part of [undefined, '', 'response', 'constructor', '__proto__']) {
    t.strictSame(
      validationIssues([at('/x')], part),
      [{ in: 'body', pointer: '/x', message: 'is wrong' }],
      String(part),
    )
  }
})

t.test('the order of issues is kept, and their number is bounded', async (t) => {
  const faults = Array.from({ length: 10_000 }, (_, index) => at(`/items/${index}`))
  const issues = validationIssues(faults, 'body')
  t.equal(issues.length, 50)
  t.same(issues.at(-1), { in: 'body', pointer: '/items/49', message: 'is wrong' })
  const values = Array.from({ length: 1000 }, (_, index) => `v${index}`)
  t.equal(validationIssues([oneOf('/x', values)], 'body')[0]?.message.split(', ').length, 20)
})

t.test('long names are cut, and issues beyond the total length are left out', async (t) => {
  const long = 'k'.repeat(1_000_000)
  const rows: readonly (readonly [about: string, faults: readonly SchemaFault[], count: number])[] = [
    ['one long name', [unknown('', long)], 1],
    ['faults under a long name', Array.from({ length: 60 }, (_, index) => at(`/${long}/${index}`)), 1],
    ['names of 90 characters', Array.from({ length: 60 }, () => at(`/${'k'.repeat(89)}`)), 50],
    ['names of 490 characters', Array.from({ length: 60 }, () => at(`/${'k'.repeat(489)}`)), 20],
  ]
  for (const [about, faults, count] of rows) {
    for (const part of ['body', 'querystring']) {
      const issues = validationIssues(faults, part)
      t.equal(issues.length, count, `${about}, ${part}`)
      t.ok(JSON.stringify(issues).length < 20_000, `${about}, ${part}: in all`)
    }
  }
  t.match(validationIssues([unknown('', long)], 'body'), [{ pointer: /^\/k{299}…$/ }])
})

t.test('any member name: the pointer leads to it (RFC 6901 §4), the name is it', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (member) => {
      const [inBody] = validationIssues([missing('', member)], 'body')
      const [inQuery] = validationIssues([missing('', member)], 'querystring')
      return (
        resolve({ [member]: 'found' }, pointerOf(inBody)) === 'found' &&
        inQuery?.in === 'query' &&
        inQuery.name === member
      )
    }),
  )
})

t.test('any fault: no throw, one issue each, in text', async () => {
  const fault = fc.record(
    {
      instancePath: fc.jsonValue(),
      keyword: fc.oneof(fc.constantFrom('required', 'enum', 'additionalProperties'), fc.jsonValue()),
      message: fc.jsonValue(),
      params: fc.oneof(
        fc.jsonValue(),
        fc.record({ missingProperty: fc.jsonValue(), allowedValues: fc.jsonValue() }, { requiredKeys: [] }),
      ),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(
      fc.array(fault),
      fc.constantFrom('body', 'params', 'headers', 'querystring'),
      (faults, part) => {
        const issues = validationIssues(faults, part)
        return issues.length === faults.length && issues.every(({ message }) => typeof message === 'string')
      },
    ),
  )
})

function at(instancePath: string): SchemaFault {
  return { instancePath, keyword: 'format', message: 'is wrong' }
}

function missing(instancePath: string, missingProperty: string): SchemaFault {
  return { instancePath, keyword: 'required', message: 'must have it', params: { missingProperty } }
}

function unknown(instancePath: string, additionalProperty: string): SchemaFault {
  return {
    instancePath,
    keyword: 'additionalProperties',
    message: 'must not',
    params: { additionalProperty },
  }
}

function oneOf(instancePath: string, allowedValues: readonly unknown[]): SchemaFault {
  return { instancePath, keyword: 'enum', message: 'must be equal', params: { allowedValues } }
}

function pointerOf(issue: ProblemIssue | undefined): string {
  return issue?.in === 'body' ? issue.pointer : 'no pointer'
}

/** The value at a JSON Pointer, read as RFC 6901 §4 says. */
function resolve(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'))
    .reduce((whole, name) => new Map(Object.entries(whole as object)).get(name), value)
}

t.test('messages of other validators are kept', async (t) => {
  const [worded] = validationIssues(['name is required'], 'body')
  t.equal(worded?.message, 'name is required')
  const allowedValues = [{ a: 1 }, 'b']
  const [chosen] = validationIssues(
    [{ instancePath: '', keyword: 'enum', params: { allowedValues } }],
    'body',
  )
  t.equal(chosen?.message, 'must be one of {"a":1}, b')
  const params = { unevaluatedProperty: 'x' }
  const [extra] = validationIssues([{ instancePath: '', keyword: 'unevaluatedProperties', params }], 'body')
  t.match(extra, { pointer: '/x', message: 'is not known here' })
})

const issue = (pointer: string, message = 'is wrong'): ProblemIssue => ({ in: 'body', pointer, message })

t.test('issues of ordinary length do not change, up to 50', async (t) => {
  const given = Array.from({ length: 60 }, (_, index) => issue(`/items/${index}/quantity`, 'x'.repeat(100)))
  t.strictSame(boundedIssues(given), given.slice(0, 50))
})

t.test('a long text is cut, and the issue that exceeds the total is the last', async (t) => {
  const long = 'k'.repeat(9_000)
  const given = [issue(`/${long}`), issue('/a', long), issue('/b')]
  const kept = boundedIssues(given)
  t.match(kept, [{ pointer: /^\/k{299}…$/ }, { message: /^k{300}…$/ }])
  t.equal(kept.length, 2)
  t.equal(boundedIssues([issue('k'.repeat(1_000_000))]).length, 1)
})

t.test('a list is full after 50 issues, and ignores more', async (t) => {
  const list = new IssueList()
  t.equal(list.isFull, false)
  for (let index = 0; index < 51; index++) list.add({ in: 'query', name: `n${index}`, message: 'is wrong' })
  t.strictSame([list.isFull, list.issues.length], [true, 50])
})

t.test('in the joined text, each issue has its place in the same style', async (t) => {
  const issues: ProblemIssue[] = [
    issue('/items/0'),
    issue('', 'must be object'),
    { in: 'query', name: 'limit', message: 'must be integer' },
  ]
  t.equal(textOfIssues(issues), 'body/items/0 is wrong, body must be object, query/limit must be integer')
})
