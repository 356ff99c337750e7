/** Objects: commas, names and defaults, whatever the names are and whatever is there. */
import fc from 'fast-check'
import t from 'tap'
import { ourWriter } from '../schema/compiled.js'

const text = { type: 'string' }

t.test('with any members missing, the result is JSON in the order of the schema', async (t) => {
  const member = fc.record({
    required: fc.boolean(),
    fallback: fc.constantFrom(null, 'default'),
    isThere: fc.boolean(),
  })
  const details = fc.check(
    fc.property(fc.array(member, { maxLength: 5 }), fc.boolean(), (drafts, hasRest) => {
      const members = drafts.map((draft, index) => ({ name: `m${index}`, ...draft }))
      const ordered = [
        ...members.filter(({ required }) => required),
        ...members.filter(({ required }) => !required),
      ]
      const properties = Object.fromEntries(
        members.map((one) => [one.name, one.fallback === null ? text : { ...text, default: one.fallback }]),
      )
      const required = members.filter(({ required }) => required).map(({ name }) => name)
      const schema = { type: 'object', required, properties, additionalProperties: true }
      const write = ourWriter(schema, { twins: true })
      const there = members.filter(({ isThere }) => isThere).map(({ name }) => [name, name])
      const object = Object.fromEntries([...(hasRest ? [['rest', 1]] : []), ...there])
      const isMissing = members.some((one) => !one.isThere && one.required && one.fallback === null)
      if (isMissing) return throws(() => write(object), /^"m\d" is required!$/)
      const shown = ordered.filter(({ isThere, fallback }) => isThere || fallback !== null)
      const entries = shown.map((one) => `"${one.name}":"${one.isThere ? one.name : one.fallback}"`)
      return write(object) === `{${[...entries, ...(hasRest ? ['"rest":1'] : [])].join(',')}}`
    }),
    { numRuns: 1000 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random members')
})

t.test('names are written as JSON, whatever they are', async (t) => {
  const names = ['"', "'", '`', '\\', '\n', '\u2028', '${', '*/', '];throw 1;//', '\ud800', '', '0', '😀']
  const write = writerOfTexts(names)
  const object = Object.fromEntries(names.map((name) => [name, name]))
  t.strictSame(JSON.parse(write(object)), object)

  const schema = { type: 'object', required: ['it"s'], properties: { 'it"s': text } }
  t.throws(() => ourWriter(schema, { twins: true })({}), { message: '"it\\"s" is required!' })
})

t.test('properties of Object.prototype are not written; getters of a class are, and read once', async (t) => {
  const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
  const write = writerOfTexts(inherited)
  for (const empty of [{}, Object.create(null)]) t.equal(write(empty), '{}')
  const own = JSON.parse(`{${inherited.map((name) => `"${name}":"own"`).join(',')}}`)
  t.equal(write(own), JSON.stringify(own))
  t.equal(writerOfTexts(['name', 'constructor'])({ name: 'a' }), '{"name":"a"}')

  let reads = 0
  class User {
    get name(): string {
      reads++
      return 'from a getter'
    }
  }
  t.equal(writerOfTexts(['name'])(new User()), '{"name":"from a getter"}')
  t.equal(reads, 1)
})

function writerOfTexts(names: readonly string[]): (value: unknown) => string {
  const members = names.map((name) => `${JSON.stringify(name)}:{"type":"string"}`)
  const properties = JSON.parse(`{${members.join(',')}}`)
  return ourWriter({ type: 'object', properties }, { twins: true })
}

function throws(call: () => unknown, message: RegExp): boolean {
  try {
    call()
  } catch (error) {
    return error instanceof Error && message.test(error.message)
  }
  return false
}
