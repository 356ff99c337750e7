/** The recipes for metrics and traces in docs/operations.md, run as they stand, on fakes of the packages. */
import diagnostics from 'node:diagnostics_channel'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import t from 'tap'
import { operationChannel, operations, problems } from '../../src/index.js'
import { until } from '../support/until.js'
import { blocksOf } from './markdown.js'

const page = fileURLToPath(new URL('../../docs/operations.md', import.meta.url))
const recipes = blocksOf(await readFile(page, 'utf8')).filter(({ language }) => language === 'js')

t.test('prom-client counts events and observes durations', async (t) => {
  const counted: object[] = []
  const observed: { labels: object; seconds: number }[] = []
  let subscriber: ((message: unknown) => void) | undefined
  run(recipeWith("from 'prom-client'"), {
    Counter: class {
      inc = (labels: object) => counted.push(labels)
    },
    Histogram: class {
      observe = (labels: object, seconds: number) => observed.push({ labels, seconds })
    },
    subscribe: (channel: string, listener: (message: unknown) => void) => {
      t.equal(channel, operationChannel)
      subscriber = listener
      diagnostics.subscribe(channel, listener)
    },
  })
  t.teardown(() => diagnostics.unsubscribe(operationChannel, subscriber ?? (() => {})))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(operations, { drain: 0 })
  app.operations.define('pay', async () => {})
  app.operations.define('fail', async () => Promise.reject(new Error('it fails')))
  await app.ready()
  for (const name of ['pay', 'fail']) {
    const { id } = await app.operations.start(name)
    await until(
      () => app.operations.find(id),
      (found) => found?.status !== 'In progress',
      5_000,
      2,
    )
  }
  const events = ['start', 'run', 'end']
  const counts = ['pay', 'fail'].flatMap((operation) => events.map((event) => ({ operation, event })))
  t.strictSame(counted, counts)
  const labels = [
    { operation: 'pay', status: 'Succeeded' },
    { operation: 'fail', status: 'Failed' },
  ]
  t.match(observed, [{ labels: labels[0] }, { labels: labels[1] }])
  t.ok(observed.every(({ seconds }) => seconds >= 0 && seconds < 60))
})

function recipeWith(text: string): string {
  const found = recipes.filter((block) => block.text.includes(text))
  if (found.length !== 1) throw new Error(`${found.length} recipes have ${text}`)
  return found[0]?.text ?? ''
}

/** Runs a snippet; its imports are given by their names. */
function run(snippet: string, given: Readonly<Record<string, unknown>>): void {
  const code = snippet.replace(/^import \{([^}]*)\} from .*$/gm, (_line, names: string) => {
    const missing = names.split(',').filter((name) => !(name.trim() in given))
    if (missing.length > 0) throw new Error(`there is no fake of ${missing.join()}`)
    return ''
  })
  new Function(...Object.keys(given), code)(...Object.values(given))
}
