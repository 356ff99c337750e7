/**
 * Apps as teams have them, after each step of `docs/into-a-running-service.md`. Each folder has an app, its own tests, and
 * the steps as diffs of the app.
 */
import { readFileSync } from 'node:fs'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { type Sent, sentBy } from '../responses.js'
import { type AppFolder, appIn, type Place, requestsOf, run } from './boot.js'

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const page = { origin: 'https://pages.example' }

/** What is sent to each path: method, suffix of the path, header fields, body. */
const variants: readonly (readonly [string, string?, Readonly<Record<string, string>>?, string?])[] = [
  ['HEAD'],
  ['OPTIONS'],
  ['OPTIONS', '', { ...page, 'access-control-request-method': 'GET' }],
  ['GET', '', { ...page, accept: 'application/xml', 'accept-encoding': 'gzip' }],
  ['GET', '', { 'if-none-match': '*', 'if-modified-since': 'Sun, 06 Nov 2033 08:49:37 GMT' }],
  ['GET', '', { 'if-match': '"other"', prefer: 'wait=1', 'sec-fetch-site': 'cross-site' }],
  ['GET', '?fields=id&format=csv&limit=1&before_id=9007199254740993&_method=DELETE'],
  ['GET', '/'],
  ['GET', '/%41'],
  ['GET', '/%zz'],
  ['GET', `/${'a'.repeat(5000)}`],
  ['PUT', '', json, '{"id":9007199254740993,"id_str":"1"}'],
  ['PATCH', '', json, '{"a":'],
  ['POST', '', { ...json, 'idempotency-key': 'key-1' }, '[1e400]'],
  ['POST', '', { ...form, 'x-http-method-override': 'DELETE' }, '_method=PATCH&name=a'],
  ['POST', '', { ...json, 'content-encoding': 'br', 'x-http-method-override': 'TRACE' }, '{}'],
  ['DELETE', '', { 'content-type': 'application/octet-stream' }, 'abc'],
  ['PROPFIND'],
]

/** The apps; the member of error bodies that clients read, and the tests whose errors are answered in other words. */
const apps = [
  ['tasks', ['root'], 'message', ['fault', 'create from another type']],
  ['generated', ['root', 'context']],
] as const

for (const [name, places, kept, except = []] of apps) {
  t.test(name, async (t) => {
    const root = t.testdir()
    const bare = await appIn(root, name, 'bare')
    const report = await appIn(root, name, 'report')
    const enforce = await appIn(root, name, 'enforce')

    for (const place of places) {
      t.test(`without the conventions, in the ${place}: its own tests pass`, async (t) => {
        for (const { row, failures, otherBody } of await outcomesOf(bare, place))
          t.strictSame({ failures, otherBody }, { failures: [], otherBody: false }, row[0])
      })

      t.test(`report, first in line, in the ${place}: no byte of a response changes`, async (t) => {
        const before = await answersOf(bare, place)
        const after = await answersOf(report, place)
        for (const [request, answer] of Object.entries(before))
          if (JSON.stringify(after[request]) !== JSON.stringify(answer))
            t.strictSame(after[request], answer, request)
        t.ok(Object.keys(before).length > 50)
      })

      t.test(`enforce, in the ${place}: its own tests pass, and bodies of errors are problems`, async (t) => {
        for (const { row, failures, otherBody, response } of await outcomesOf(enforce, place)) {
          const [name, , status, body] = row
          t.strictSame(failures, [], name)
          const isProblem = response.headers['content-type'] === 'application/problem+json'
          t.equal(isProblem, status >= 400, `${name}: the type`)
          if (!isProblem) {
            t.notOk(otherBody, `${name}: the body`)
            continue
          }
          t.match(response.json(), { status, code: /^[a-z-]+$/ }, name)
          if (kept === undefined || body === undefined || except.some((one) => one === name)) continue
          t.equal(response.json()[kept], (body as Record<string, unknown>)[kept], `${name}: ${kept}`)
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

async function outcomesOf({ boot, ownTests }: AppFolder, place: Place) {
  const app = await boot(place)
  const outcomes = await run(app, ownTests)
  await app.close()
  return outcomes
}

/** The responses to the own requests of an app, and to variants of them. */
async function answersOf({ boot, ownTests }: AppFolder, place: Place): Promise<Record<string, Sent>> {
  const app = await boot(place)
  const own = await requestsOf(app, ownTests)
  const user = own.find(({ headers }) => headers?.cookie !== undefined)?.headers?.cookie
  const cookie = user === undefined ? {} : { cookie: user }
  const paths = new Set(own.map(({ url }) => String(url).split('?')[0]))
  const varied = [...paths].flatMap((path) =>
    variants.map(([method, suffix = '', headers = {}, payload]): InjectOptions => {
      const content = payload === undefined ? {} : { payload }
      return { method: method as 'GET', url: path + suffix, headers: { ...cookie, ...headers }, ...content }
    }),
  )
  const answers: Record<string, Sent> = {}
  for (const request of [...own, ...varied]) answers[JSON.stringify(request)] = await sentBy(app, request)
  await app.close()
  return answers
}
