/** Decisions.md §3 and §10: what Fastify writes of a schema stays as it is, and no integer loses a digit. */
import fc from 'fast-check'
import t from 'tap'
import { fastifyWriter, ourWriter } from './compiled.js'
import { parseExact, twinFaults, withoutTwins, writeExact } from './exact-tree.js'
import { anySample } from './random-schemas.js'

const everything = { choices: true, wide: true, open: true }

t.test('without long integers the bytes are those of fast-json-stringify', async () => {
  const sample = anySample({ ...everything, wide: false })
  fc.assert(
    fc.property(sample, ({ schema, shared, payloads }) => {
      const theirs = fastifyWriter(schema, shared)
      const ours = ourWriter(schema, { twins: false, shared })
      for (const { given } of payloads) same(ours(given), theirs(given))
    }),
    { numRuns: 1000 },
  )
})

t.test('with long integers they are too, but for the digits that it cannot write', async () => {
  fc.assert(
    fc.property(anySample(everything), ({ schema, shared, payloads }) => {
      const theirs = fastifyWriter(schema, shared)
      const ours = ourWriter(schema, { twins: false, shared })
      for (const { given, standIn, exact } of payloads) same(ours(given), exact(theirs(standIn)))
    }),
    { numRuns: 1000 },
  )
})

t.test('without the twins they are the same; each long integer has its twin right behind it', async () => {
  fc.assert(
    fc.property(anySample(everything), ({ schema, shared, payloads }) => {
      const theirs = fastifyWriter(schema, shared)
      const ours = ourWriter(schema, { twins: true, shared })
      for (const { given, standIn, exact } of payloads) {
        const tree = parseExact(ours(given))
        same(writeExact(withoutTwins(tree)), exact(theirs(standIn)))
        same(twinFaults(tree).join('\n'), '')
      }
    }),
    { numRuns: 1000 },
  )
})

function same(received: string, expected: string): void {
  if (received !== expected) throw new Error(`expected ${expected}\nreceived ${received}`)
}
