import t from 'tap'
import { findThen, readValidators } from '../../../src/plugins/caching/find-validators.js'
import type { FindValidators } from '../../../src/plugins/caching/plan.js'

interface Outcome {
  readonly events: string[]
  readonly errors: unknown[]
}

async function run(find: unknown, judge: (found: unknown) => string = JSON.stringify): Promise<Outcome> {
  const events: string[] = []
  const errors: unknown[] = []
  findThen(
    find as FindValidators,
    {} as never,
    (error) => void errors.push(error),
    judge,
    (outcome) => void events.push(outcome),
  )
  await new Promise((resolve) => setImmediate(resolve))
  return { events, errors }
}

t.test('what is found is judged once: at once, later, or by what can be awaited', async (t) => {
  const found = { version: 7 }
  const awaited = Object.fromEntries([['then', (resolve: (value: unknown) => void) => resolve(found)]])
  for (const find of [() => found, async () => found, () => awaited])
    t.strictSame(await run(find), { events: ['{"version":7}'], errors: [] })
})

t.test('nothing found is null, also where a function returns nothing at all', async (t) => {
  for (const find of [() => null, async () => null, () => undefined, async () => undefined])
    t.strictSame(await run(find), { events: ['null'], errors: [] })
})

t.test('every failure is an error for next, once, and nothing is acted on', async (t) => {
  const failure = new Error('no')
  const fail = (reason: unknown) => () => {
    throw reason
  }
  for (const [find, judge] of [
    [fail(failure)],
    [async () => Promise.reject(failure)],
    [() => ({}), fail(failure)],
    [async () => ({}), fail(failure)],
  ] as const) {
    const { events, errors } = await run(find, judge)
    t.strictSame(events, [])
    t.equal(errors.length, 1)
    t.equal(errors[0], failure)
  }
  for (const nothing of [undefined, null, 0, '', false]) {
    for (const find of [fail(nothing), async () => Promise.reject(nothing)]) {
      const { events, errors } = await run(find)
      t.strictSame(events, [])
      t.match(errors, [{ message: /config\.caching\.validators/ }], `thrown: ${String(nothing)}`)
    }
  }
})

t.test('a tag or version, and a time to the second, not later than now', async (t) => {
  const now = Date.UTC(2026, 10, 20, 12, 0, 0, 900)
  t.strictSame(readValidators({}, now), { etag: undefined })
  t.strictSame(readValidators({ version: 7n, lastModified: 1_500 }, now), {
    etag: '"7"',
    lastModified: 1_000,
  })
  t.strictSame(readValidators({ etag: 'W/"a"', version: 7 }, now).etag, 'W/"a"')
  t.equal(readValidators({ lastModified: now + 1 }, now).lastModified, now - 900)
  t.strictSame(readValidators({ lastModified: Number.NaN }, now), { etag: undefined })
  t.throws(() => readValidators({ etag: 'a b' }, now), TypeError)
})
