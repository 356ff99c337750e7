/**
 * Apps as teams have them, after each step of `docs/into-a-running-service.md`. Each folder has an app, its own tests, and
 * the steps as diffs of the app.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { serve } from '../../support/serve.js'
import { type AppFolder, type AppName, appIn, type Place } from './boot.js'
import { type Outcome, run } from './own-tests.js'
import { type RawResponses, rawResponses } from './raw-requests.js'

interface Adopted {
  readonly name: AppName
  readonly places: readonly Place[]
  /** The member of error bodies that clients read, and the tests whose errors are answered in other words. */
  readonly kept?: { readonly member: string; readonly except: readonly string[] }
}

const apps: readonly Adopted[] = [
  {
    name: 'tasks',
    places: ['root'],
    kept: { member: 'message', except: ['fault', 'create from another type'] },
  },
  { name: 'graph', places: ['root'], kept: { member: 'error', except: ['fault'] } },
  { name: 'generated', places: ['root', 'context'] },
]

for (const { name, places, kept } of apps) {
  t.test(name, async (t) => {
    const root = t.testdir()
    const bare = await appIn(root, name, 'bare')
    const report = await appIn(root, name, 'report')
    const enforce = await appIn(root, name, 'enforce')

    for (const place of places) {
      t.test(`without the conventions, in the ${place}: its own tests pass`, async (t) => {
        for (const outcome of await outcomesOf(bare, place)) {
          t.strictSame(outcome.failures, [], outcome.test.name)
          t.notOk(outcome.otherBody, `${outcome.test.name}: the body`)
        }
      })

      t.test(`report, first in line, in the ${place}: no byte of a response changes`, async (t) => {
        const before = await answersOf(t, bare, place)
        const after = await answersOf(t, report, place)
        const changed = Object.keys(before).filter((request) => before[request] !== after[request])
        const bytesOf = (all: RawResponses) => changed.map((request) => [request, all[request]])
        t.strictSame(bytesOf(after), bytesOf(before), `${Object.keys(before).length} requests`)
      })

      t.test(`enforce, in the ${place}: its own tests pass, and bodies of errors are problems`, async (t) => {
        for (const outcome of await outcomesOf(enforce, place)) {
          const { test, failures, otherBody, response } = outcome
          t.strictSame(failures, [], test.name)
          const isProblem = response.headers['content-type'] === 'application/problem+json'
          // A body of GraphQL has its own form of errors.
          t.equal(isProblem, test.status >= 400 && test.url !== '/graphql', `${test.name}: the type`)
          if (!isProblem) {
            t.notOk(otherBody, `${test.name}: the body`)
            continue
          }
          t.match(response.json(), { status: test.status, code: /^[a-z-]+$/ }, test.name)
          if (kept === undefined || test.body === undefined || kept.except.includes(test.name)) continue
          const { [kept.member]: text } = test.body as Record<string, unknown>
          t.equal(response.json()[kept.member], text, `${test.name}: ${kept.member}`)
        }
      })
    }
  })
}

t.test('the example of the guide is the diff of an app', async (t) => {
  const guide = readFileSync('docs/into-a-running-service.md', 'utf8')
  const diff = readFileSync('test/beside/apps/tasks/enforce.diff', 'utf8')
  t.ok(guide.includes(`\`\`\`diff\n${diff}\`\`\`\n`))
})

async function outcomesOf({ boot, ownTests }: AppFolder, place: Place): Promise<Outcome[]> {
  const app = await boot(place)
  const outcomes = await run(app, ownTests)
  await app.close()
  return outcomes
}

async function answersOf(t: Test, folder: AppFolder, place: Place): Promise<RawResponses> {
  const app = await folder.boot(place)
  const { port } = await serve(t, app)
  return rawResponses(port, folder.ownTests)
}
