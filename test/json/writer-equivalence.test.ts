/** What Fastify writes by a schema stays as it is, and no integer loses a digit. */
import fc from 'fast-check'
import t from 'tap'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'
import { parseExact, twinFaults, withoutTwins, writeExact } from '../schema/exact-tree.js'
import type { Contents } from '../schema/random-scalars.js'
import { anySample } from '../schema/random-schemas.js'

const everything: Contents = { choices: true, wide: true, open: true }

t.test('the bytes are those of Fastify plus the twins, each after its integer', async (t) => {
  const property = fc.property(anySample(everything), ({ schema, shared, payloads }) => {
    const theirs = fastifyWriter(schema, shared)
    const ours = ourWriter(schema, { twins: true, shared })
    for (const { given, standIn, exact } of payloads) {
      // The writer does not change the payload.
      const tree = parseExact(ours(frozen(given)))
      same(writeExact(withoutTwins(tree)), exact(theirs(standIn)))
      same(twinFaults(tree).join('\n'), '')
    }
  })
  const details = fc.check(property, { numRuns: 60 })
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `${details.numRuns} samples`)
})

function same(received: string, expected: string): void {
  if (received !== expected) throw new Error(`expected ${expected}\nreceived ${received}`)
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}
