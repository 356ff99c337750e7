/** The generated writer of an object: commas, names and defaults, whatever the names are and whatever is there. */
import fc from 'fast-check'
import t from 'tap'
import { generateObjectWriter } from '../../../src/representation/output/object-writer.js'
import type { WrittenMember } from '../../../src/representation/output/write.js'
import { refuseLost } from '../compiled.js'

t.test('whatever is there and whatever is not, it is JSON in the order of the members', async (t) => {
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

t.test('a name is a name, never code', async (t) => {
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

t.test('so is a required one that is not there', async (t) => {
  const write = generateObjectWriter([{ ...memberOf('it"s'), required: true }], null)
  t.throws(() => write({}, refuseLost), { message: '"it\\"s" is required!' })
})

t.test('what every object inherits is nobody’s data; what a class defines is', async (t) => {
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
