/**
 * What `report` announces: over one app, bare, in `report` and in `enforce` mode, requests as they come over the wire. In
 * `report` mode the bytes are those of the bare app, and each difference of `enforce` was observed, with its effect. With
 * `off` the bytes are those of the bare app, too.
 */
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionsOptions, type Observation } from '../../src/index.js'
import { exchange, parseAnswers, type RawAnswer, withoutDate } from '../support/raw.js'
import { serve } from '../support/serve.js'
import { addRoutes, requests } from './announced/service.js'

type Answer = Pick<RawAnswer, 'status' | 'headers' | 'body'>

/** The conventions that may add or change a header field. */
const pluginsOf: Readonly<Record<string, readonly string[]>> = {
  ratelimit: ['rateLimit'],
  'ratelimit-policy': ['rateLimit'],
  'cache-control': ['caching'],
  etag: ['caching'],
  'last-modified': ['caching'],
  expires: ['caching'],
  vary: ['caching', 'cors'],
  link: ['lists', 'versions'],
  deprecation: ['versions'],
  sunset: ['versions'],
  'content-location': ['selfAlias'],
}

/** What follows from the body. */
const framing = 'content-length transfer-encoding connection keep-alive date'.split(' ')

/** What Node.js answers itself, without a hook, unless `enforce` takes it over. */
const answeredByNode = { 'expects something else': 'docs/report.md says so' }

const options: ConventionsOptions = {
  versions: { versions: { 1: {}, 2: { deprecated: '2026-01-01', sunset: '2027-01-01' } } },
  cors: { origin: ['https://a.example'] },
}

t.test('each difference of enforce is announced by report, and report changes no byte', async (t) => {
  const bare = await appWith(t, null)
  const report = await appWith(t, 'report')
  const off = await appWith(t, 'off')
  const enforce = await appWith(t, 'enforce')
  for (const [name, bytes] of Object.entries(requests)) {
    const before = await exchange(bare.port, bytes)
    const known = report.observed()
    t.equal(withoutDate(await exchange(report.port, bytes)), withoutDate(before), `${name}: no byte changes`)
    t.equal(withoutDate(await exchange(off.port, bytes)), withoutDate(before), `${name}: nor with mode off`)
    const observed = report.observed().filter((one) => !known.some((old) => same(old, one)))
    const after = await exchange(enforce.port, bytes)
    if (name in answeredByNode) continue
    t.strictSame(unannounced(answerOf(before), answerOf(after), observed), [], name)
  }
})

/** Returns the differences between two responses that no observation announces, and observations without a difference. */
function unannounced(before: Answer, after: Answer, observed: readonly Observation[]): string[] {
  const faults: string[] = []
  const statuses = observed.flatMap(({ status }) => status ?? [])
  const isChanged = observed.some(({ effect }) => effect === 'changed')
  const isRefused = after.status >= 400 && statuses.includes(after.status)
  // A change may be one of an error: 404 becomes 405.
  const isOtherError = isChanged && before.status >= 400
  if (after.status !== before.status && !isRefused && !isOtherError && !(isChanged && after.status < 400))
    faults.push(`status ${before.status}, then ${after.status}`)
  for (const status of statuses) {
    // Whether it holds is not evaluated.
    const isOpen = observed.some(({ rule }) => rule === 'precondition')
    if (after.status < 400 && !isOpen)
      faults.push(`a refusal with ${status} was announced, and it is ${after.status}`)
  }
  if (isRefused) return withObserved(faults, observed)
  if (after.body !== before.body && !isChanged) faults.push(`body ${before.body}, then ${after.body}`)
  const names = new Set([...Object.keys(before.headers), ...Object.keys(after.headers)])
  for (const name of names) {
    const [one, other] = [before.headers[name], after.headers[name]]
    if (one === other || framing.includes(name)) continue
    const effects = one === undefined ? ['header added', 'changed'] : ['changed']
    const plugins =
      pluginsOf[name] ?? (name.startsWith('access-control-') ? ['cors'] : ['securityHeaders', 'problems'])
    // The headers of another response belong to the change.
    const isOfBody = observed.some(({ plugin, effect }) => plugin === 'problems' && effect === 'changed')
    const isAnnounced = observed.some(
      ({ plugin, effect }) => plugins.includes(plugin) && effects.includes(effect),
    )
    const isOf304 = after.status === 304 && other === undefined && isChanged
    if (!isAnnounced && !isOfBody && !isOf304) faults.push(`${name}: ${one}, then ${other}`)
  }
  return withObserved(faults, observed)
}

function withObserved(faults: readonly string[], observed: readonly Observation[]): string[] {
  return faults.length === 0 ? [] : [...faults, `observed: ${observed.map(textOf).join('; ')}`]
}

const textOf = ({ plugin, rule, effect, status }: Observation) =>
  `${plugin}.${rule} ${effect} ${status ?? ''}`.trim()

const same = (one: Observation, other: Observation) =>
  textOf(one) === textOf(other) && one.route === other.route && one.count === other.count

async function appWith(t: Test, mode: 'report' | 'enforce' | 'off' | null) {
  const app: FastifyInstance = Fastify()
  if (mode !== null) await app.register(conventions, { ...options, mode })
  addRoutes(app)
  const { port } = await serve(t, app)
  return { port, observed: () => (mode === null ? [] : app.conventions.report().observations) }
}

function answerOf(bytes: string): Answer {
  const [answer] = parseAnswers(bytes)
  return answer ?? { status: 0, headers: {}, body: '' }
}
