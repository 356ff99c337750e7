/** The recipe for metrics in docs/operations.md, run as it stands, on fakes of prom-client. */
import diagnostics from 'node:diagnostics_channel'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import t from 'tap'
import { operationChannel, operations, problems } from '../../src/index.js'
import { until } from '../support/until.js'
import { blocksOf } from './markdown.js'

const page = await readFile(fileURLToPath(new URL('../../docs/operations.md', import.meta.url)), 'utf8')

t.test('prom-client counts events and observes durations', async (t) => {
  const counted: object[] = []
  const observed: { labels: object; seconds: number }[] = []
  const given: Readonly<Record<string, unknown>> = {
    Counter: class {
      inc = (labels: object) => counted.push(labels)
    },
    Histogram: class {
      observe = (labels: object, seconds: number) => observed.push({ labels, seconds })
    },
    subscribe(channel: string, listener: (message: unknown) => void) {
      t.equal(channel, operationChannel)
      diagnostics.subscribe(channel, listener)
      t.teardown(() => diagnostics.unsubscribe(channel, listener))
    },
  }
  const recipe = blocksOf(page).find(({ text }) => text.includes("from 'prom-client'"))?.text ?? ''
  new Function(...Object.keys(given), recipe.replace(/^import .*$/gm, ''))(...Object.values(given))

  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(operations, { drain: 0 })
  app.operations.define('pay', async () => {})
  app.operations.define('fail', async () => Promise.reject(new Error('it fails')))
  await app.ready()
  for (const name of ['pay', 'fail']) {
    const { id } = await app.operations.start(name)
    const isOver = (found: { status: string } | null) => found?.status !== 'In progress'
    await until(() => app.operations.find(id), isOver, 5_000, 2)
  }
  const events = ['start', 'run', 'end']
  const counts = ['pay', 'fail'].flatMap((operation) => events.map((event) => ({ operation, event })))
  t.strictSame(counted, counts)
  const ends = [
    { operation: 'pay', status: 'Succeeded' },
    { operation: 'fail', status: 'Failed' },
  ]
  t.strictSame(
    observed.map(({ labels }) => labels),
    ends,
  )
  t.ok(observed.every(({ seconds }) => seconds >= 0 && seconds < 60))
})
