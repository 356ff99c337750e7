/** The generated writer of an object: commas, names and defaults, whatever the names are and whatever is there. */
import fc from 'fast-check'
import t from 'tap'
import { generateAppender, generateObjectWriter, type WrittenMember } from '../../src/json/object-writer.js'
import type { Shape } from '../../src/json-schema/shape.js'
import { refuseLost } from '../json-schema/compiled.js'

t.test('with any members missing, the result is JSON in the order of the schema', async (t) => {
  const member = fc.record({
    required: fc.boolean(),
    fallback: fc.constantFrom(null, '"default"'),
    isThere: fc.boolean(),
  })
  const rest = fc.constantFrom(null, '', ',"rest":1')
  const details = fc.check(
    fc.property(fc.array(member, { maxLength: 5 }), rest, (drafts, restJson) => {
      const members = drafts.map((draft, index) => ({ ...memberOf(`m${index}`), ...draft }))
      const write = generateObjectWriter(members, restJson === null ? null : () => restJson)
      const there = members.filter(({ isThere }) => isThere)
      const object = Object.fromEntries(there.map(({ name }) => [name, name]))
      const isMissing = members.some((one) => !one.isThere && one.required && one.fallback === null)
      if (isMissing) return throws(() => write(object, refuseLost), /^"m\d" is required!$/)
      const shown = members.filter(({ isThere, fallback }) => isThere || fallback !== null)
      const entries = shown.map((one) => `"${one.name}":${one.isThere ? `"${one.name}"` : one.fallback}`)
      return (
        write(object, refuseLost) ===
        `{${entries.join(',')}${restJson === '' ? '' : restOf(entries, restJson)}}`
      )
    }),
    { numRuns: 1000 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random members')
})

t.test('objects with usual and unusual values have the same JSON, in any order of calls', async (t) => {
  const kinds = ['text', 'integer', 'number', 'boolean', 'null'] as const
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom('\ud800', '"', 'x'.repeat(6_000), ''),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(undefined),
  )
  const writeJson = (given: unknown) => JSON.stringify(given)
  const details = fc.check(
    fc.property(
      fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }),
      fc.array(fc.array(value, { minLength: 4, maxLength: 4 }), { maxLength: 40 }),
      (kindsOf, rows) => {
        const members = kindsOf.map((kind, index) => ({
          ...memberOf(`m${index}`),
          shape: { nullable: false, kind, int64: null, format: null } as unknown as Shape,
          write: writeJson,
        }))
        const write = generateObjectWriter(members, null)
        return rows.every((row) => {
          const object = Object.fromEntries(members.map(({ name }, index) => [name, row[index]]))
          return write(object, refuseLost) === JSON.stringify(object)
        })
      },
    ),
    { numRuns: 2000 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random rows')
})

t.test('a member name is never run as code', async (t) => {
  const names = [
    '"',
    "'",
    '`',
    '\\',
    '\n',
    '\u2028',
    '${',
    '*/',
    '//',
    '];throw 1;//',
    '\ud800',
    '',
    '0',
    'ä',
    '😀',
  ]
  const write = generateObjectWriter(names.map(memberOf), null)
  const object = Object.fromEntries(names.map((name) => [name, name]))
  t.strictSame(JSON.parse(write(object, refuseLost)), object)
  t.equal(write({ '"': 'only' }, refuseLost), '{"\\"":"only"}')
})

t.test('the name of a missing required member is never run as code', async (t) => {
  const write = generateObjectWriter([{ ...memberOf('it"s'), required: true }], null)
  t.throws(() => write({}, refuseLost), { message: '"it\\"s" is required!' })
})

t.test('properties of Object.prototype are not written; getters of a class are', async (t) => {
  const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
  const write = generateObjectWriter(inherited.map(memberOf), null)
  t.equal(write({}, refuseLost), '{}')
  t.equal(write(Object.create(null), refuseLost), '{}')
  const own = JSON.parse(`{${inherited.map((name) => `"${name}":"own"`).join(',')}}`)
  t.equal(write(own, refuseLost), JSON.stringify(own))

  class User {
    get name(): string {
      return 'from a getter'
    }
  }
  const writeUser = generateObjectWriter([memberOf('name')], null)
  t.equal(writeUser(new User(), refuseLost), '{"name":"from a getter"}')
})

t.test('a string without escapes is written inline, any other by its writer', async (t) => {
  const text = { ...memberOf('a'), write: (value: unknown) => `<${String(value)}>` }
  const write = generateObjectWriter([text], null)
  for (const [value, json] of [
    ['plain', '"plain"'],
    ['', '""'],
    ['with a space and ünicode', '"with a space and ünicode"'],
    ['"', '<">'],
    ['a long one with a line\n', '<a long one with a line\n>'],
    [null, '<null>'],
    [5, '<5>'],
  ]) {
    t.equal(write({ a: value }, refuseLost), `{"a":${json}}`)
  }
})

t.test('a safe integer is written inline, unless it is a declared 64-bit integer', async (t) => {
  const rows: readonly (readonly [shape: Shape, value: unknown, json: string])[] = [
    [{ kind: 'number', nullable: false }, 5, '5'],
    [{ kind: 'number', nullable: false }, -0, '0'],
    [{ kind: 'number', nullable: false }, 1.5, '<1.5>'],
    [{ kind: 'number', nullable: false }, 'plain', '<plain>'],
    [{ kind: 'integer', int64: null, nullable: true }, Number.MIN_SAFE_INTEGER, '-9007199254740991'],
    [{ kind: 'integer', int64: null, nullable: true }, 2 ** 53, '<9007199254740992>'],
    [{ kind: 'integer', int64: null, nullable: true }, null, '<null>'],
    [{ kind: 'integer', int64: { min: 0n, max: 10n }, nullable: false }, 5, '<5>'],
    [{ kind: 'boolean', nullable: false }, 5, '<5>'],
  ]
  for (const [shape, value, json] of rows) {
    const member = { ...memberOf('a'), shape, write: (one: unknown) => `<${String(one)}>` }
    t.equal(generateObjectWriter([member], null)({ a: value }, refuseLost), `{"a":${json}}`)
    t.equal(generateAppender(member)(member.write, null)('', { a: value }, refuseLost), `{"a":${json}`)
  }
})

t.test('members appended one by one give the whole object', async (t) => {
  const member = fc.record({
    required: fc.boolean(),
    fallback: fc.constantFrom(null, '"default"'),
    value: fc.constantFrom(undefined, 'text', '"escaped"', null),
  })
  const details = fc.check(
    fc.property(fc.array(member, { maxLength: 5 }), (drafts) => {
      const members = drafts.map((draft, index) => ({ ...memberOf(`m${index}`), ...draft }))
      const object = Object.fromEntries(members.map(({ name, value }) => [name, value]))
      const isMissing = members.some(
        (one) => one.value === undefined && one.required && one.fallback === null,
      )
      const append = (): string =>
        members
          .map((one) => generateAppender(one)(one.write, one.fallback))
          .reduce((json, appendTo) => appendTo(json, object, refuseLost), '')
      if (isMissing) return throws(append, /^"m\d" is required!$/)
      return `${append() || '{'}}` === generateObjectWriter(members, null)(object, refuseLost)
    }),
    { numRuns: 500 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random members')
})

t.test('the generated code is shared by members with other writers and defaults', async (t) => {
  const make = generateAppender({ ...memberOf('a'), fallback: '1' })
  t.equal(make(() => 'one', '2')('', { a: 0 }, refuseLost), '{"a":one')
  t.equal(make(() => 'other', '2')('{"b":1', { a: 0 }, refuseLost), '{"b":1,"a":other')
  t.equal(make(() => 'one', '2')('', {}, refuseLost), '{"a":2')
})

t.test('each member is read once', async (t) => {
  let reads = 0
  const object = {
    get a() {
      reads++
      return 'a'
    },
  }
  t.equal(generateObjectWriter([memberOf('a')], null)(object, refuseLost), '{"a":"a"}')
  t.equal(reads, 1)
})

function memberOf(name: string): WrittenMember {
  return {
    name,
    shape: { kind: 'text', format: null, nullable: false },
    required: false,
    fallback: null,
    write: (value) => JSON.stringify(value),
  }
}

function restOf(entries: readonly string[], rest: string | null): string {
  return rest === null ? '' : entries.length === 0 ? rest.slice(1) : rest
}

function throws(call: () => unknown, message: RegExp): boolean {
  try {
    call()
  } catch (error) {
    return error instanceof Error && message.test(error.message)
  }
  return false
}
