/**
 * Other plugins beside the conventions: each set-up in both orders and both modes. In `report` mode no byte of a response
 * changes. With `enforce`, nothing is taken away and nothing is repeated, and the order makes no difference.
 */
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import conventions from '../../src/index.js'
import { serve } from '../support/serve.js'
import { lostIn, repeatedIn, type Sent, sentBy, unordered } from './responses.js'
import { addRoutes, requests, type SetUp, upstreamApp } from './service.js'

const orders = ['conventions first', 'conventions last'] as const

type Registration = readonly [mode: 'report' | 'enforce', order: (typeof orders)[number]]

/** Tests set-ups, by name. */
export const testSetUps = (setUps: Readonly<Record<string, SetUp>>) =>
  t.test('set-ups', async (t) => {
    const { origin: upstream } = await serve(t, upstreamApp())

    for (const [name, setUp] of Object.entries(setUps)) {
      const bare = await answersOf(await appWith(setUp, upstream, []), setUp)

      t.test(`${name}: in report mode no byte changes`, async (t) => {
        for (const order of orders) {
          const app = await appWith(setUp, upstream, ['report', order])
          same(t, await answersOf(app, setUp), bare, order)
          t.strictSame(overlapsOf(app), setUp.overlaps ?? {}, `${order}: the report`)
        }
      })

      t.test(`${name}: nothing is taken away, and nothing is repeated`, async (t) => {
        const all: (typeof bare)[] = []
        for (const order of orders) {
          const app = await appWith(setUp, upstream, ['enforce', order])
          const answers = await answersOf(app, setUp)
          const changes: Record<string, readonly string[]> = {}
          for (const [request, before] of Object.entries(bare)) {
            const after = answers[request] ?? before
            const repeated = repeatedIn(after).filter((one) => !repeatedIn(before).includes(one))
            const changed = [...lostIn(before, after), ...repeated.map((one) => `repeated: ${one}`)]
            if (changed.length > 0) changes[request] = changed
          }
          const documented = bare.preflight?.status === 404 ? { preflight: ['status 404, now 204'] } : {}
          t.strictSame(changes, documented, order)
          t.strictSame(overlapsOf(app), setUp.overlaps ?? {}, `${order}: the report`)
          all.push(answers)
        }
        const [first, last] = all.map((answers) => unordered(answers, setUp.dependsOnOrder))
        if (setUp.dependsOnOrder !== 'all') same(t, first, last, 'the order makes no difference')
      })
    }
  })

/** Compares texts first: comparing the objects takes most of the time of this file. */
function same(t: Test, found: unknown, wanted: unknown, name: string): void {
  if (JSON.stringify(found) === JSON.stringify(wanted)) t.pass(name)
  else t.strictSame(found, wanted, name)
}

async function appWith(setUp: SetUp, upstream: string, [mode, order]: Registration | readonly []) {
  // A busy machine takes long to load plugins.
  const app = Fastify({ pluginTimeout: 60_000 })
  const register = async () =>
    app.register(conventions, {
      ...(mode === 'enforce' ? setUp.options : {}),
      ...(order === 'conventions first' && { earlierRoutes: [] }),
      mode: mode ?? 'report',
    })
  if (order === 'conventions first') await register()
  await setUp.register(app, upstream)
  if (order === 'conventions last') await register()
  await setUp.routes?.(app)
  addRoutes(app)
  await app.ready()
  return app
}

async function answersOf(app: FastifyInstance, setUp: SetUp): Promise<Record<string, Sent>> {
  const answers: Record<string, Sent> = {}
  for (const [name, request] of Object.entries({ ...requests, ...setUp.requests })) {
    answers[name] = await sentBy(app, request)
  }
  await app.close()
  return answers
}

function overlapsOf(app: FastifyInstance): Record<string, string> {
  const { findings } = app.conventions.report()
  const overlaps = findings
    .filter(({ rule }) => rule === 'overlap')
    .sort((one, other) => one.plugin.localeCompare(other.plugin))
  return Object.fromEntries(overlaps.map(({ plugin, route }) => [plugin, route]))
}
