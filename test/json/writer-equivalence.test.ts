/** What Fastify writes by a schema stays as it is, and no integer loses a digit. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'
import { parseExact, twinFaults, withoutTwins, writeExact } from '../schema/exact-tree.js'
import type { Contents } from '../schema/random-scalars.js'
import { anySample } from '../schema/random-schemas.js'
import type { Sample } from '../schema/schema-drafts.js'

const everything: Contents = { choices: true, wide: true, open: true }

t.test('the bytes are those of Fastify plus the twins, each after its integer', async (t) => {
  holds(t, everything, ({ schema, shared, payloads }) => {
    const theirs = fastifyWriter(schema, shared)
    const ours = ourWriter(schema, { twins: true, shared })
    for (const { given, standIn, exact } of payloads) {
      // The writer does not change the payload.
      const tree = parseExact(ours(frozen(given)))
      same(writeExact(withoutTwins(tree)), exact(theirs(standIn)))
      same(twinFaults(tree).join('\n'), '')
    }
  })
})

t.test('a member that the schema does not have is never written', async (t) => {
  holds(t, { ...everything, open: false }, ({ schema, shared, payloads }) => {
    const ours = ourWriter(schema, { twins: true, shared })
    for (const { given } of payloads) same(String(ours(given).includes('z_hidden')), 'false')
  })
})

function holds(t: Test, contents: Contents, predicate: (sample: Sample) => void): void {
  const details = fc.check(fc.property(anySample(contents), predicate), { numRuns: 60 })
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `${details.numRuns} samples`)
}

function same(received: string, expected: string): void {
  if (received !== expected) throw new Error(`expected ${expected}\nreceived ${received}`)
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}
