import fc from 'fast-check'
import t from 'tap'
import { checksOf, objectOf } from '../../src/options.js'
import {
  exceptionsOf,
  exclusionReasonOf,
  foreignReasonOf,
  modes,
  modesOf,
  nonJsonReasonOf,
  type RouteRuleOptions,
  type RuleException,
  routeRuleOptions,
  ruleOptions,
} from '../../src/report/modes.js'

const names = ['case', 'slash', 'words'] as const
const code = 'FST_CONV_OPTION_INVALID'
type Rule = (typeof names)[number]

const label = 'GET /v1/x config.guard'

t.test('precedence of modes: exception, rule of the route, route, rule of the plugin, plugin', async () => {
  const mode = fc.constantFrom(...modes)
  const rules = fc.record({ case: mode, slash: mode, words: mode }, { requiredKeys: [] })
  const own = fc.record({ mode, rules }, { requiredKeys: [] })
  const excepted = fc.subarray([...names])
  fc.assert(
    fc.property(fc.record({ mode, rules }), own, excepted, (options, route, except) => {
      const modeOf = modesOf(names, options, route, [{ except, reason: 'why' }])
      return names.every((rule) => {
        const off = except.includes(rule) ? 'off' : undefined
        const set = off ?? route.rules?.[rule] ?? route.mode ?? options.rules[rule] ?? options.mode
        return modeOf[rule] === set
      })
    }),
  )
})

t.test('exceptions of a path: those of the route, and those of the plugin for its pattern', async (t) => {
  const named = (url: string, ...except: Rule[]): RuleException<Rule> => ({ url, except, reason: 'why' })
  const metrics = named('/metrics', 'words')
  const docs = named('/docs/*', 'case', 'slash')
  const all = named('*', 'case')
  const likes = named('/docs*', 'case')
  const rows: readonly (readonly [path: string, held: readonly RuleException<Rule>[]])[] = [
    ['/metrics', [metrics, all]],
    ['/metrics/', [all]],
    ['/docs/static/index.html', [docs, all, likes]],
    ['/docs', [docs, all, likes]],
    ['/docsx', [all, likes]],
  ]
  for (const [path, held] of rows)
    t.same(exceptionsOf(path, label, {}, [metrics, docs, all, likes]), held, path)

  const own: RouteRuleOptions<Rule> = { except: ['case'], reason: 'published' }
  t.same(exceptionsOf('/metrics', label, own, [metrics, docs]), [metrics, own])
  t.same(exceptionsOf('/x', label, { reason: 'a reason alone excepts nothing' }, [metrics]), [])
  const message = `${label}.reason: expected the reason for the exception, received undefined`
  t.throws(() => exceptionsOf<Rule>('/x', label, { except: ['case'] }, []), { code, message })
})

t.test('why rules do not apply to a route, for what it is', async (t) => {
  const all = ['PUT', 'GET', 'POST', 'DELETE', 'PATCH']
  const rows: readonly (readonly [own: object, excluded: boolean, nonJson: boolean, foreign: boolean])[] = [
    [{}, false, false, false],
    [{ path: '/files/*' }, true, true, true],
    [{ websocket: true }, true, true, true],
    [{ websocket: false }, false, false, false],
    [{ method: all }, true, false, true],
    [{ method: all.slice(1) }, false, false, false],
    [{ schema: { hide: true } }, true, true, false],
    [{ schema: { hide: false } }, false, false, false],
  ]
  for (const [own, ...expected] of rows) {
    const route = { method: 'GET', url: '', path: '/v1/users', handler: async () => ({}), ...own }
    const reasons = [exclusionReasonOf, nonJsonReasonOf, foreignReasonOf].map((reasonOf) => reasonOf(route))
    const found = reasons.map((reason) => reason !== null)
    t.strictSame(found, expected, JSON.stringify(own))
  }
})

t.test('options of rules are checked', async (t) => {
  const check = objectOf(checksOf(ruleOptions(names)))
  const exception = { url: '/docs/*', except: ['case'], reason: 'why' }
  for (const options of [{}, { mode: 'off' }, { rules: { case: 'report' } }, { exceptions: [exception] }]) {
    t.strictSame(check('guard', options), options, JSON.stringify(options))
  }
  const aMode = "one of 'enforce', 'report', 'off'"
  const excepting = (own: object) => ({ exceptions: [exception, { ...exception, ...own }] })
  const rows: readonly (readonly [options: object, message: string])[] = [
    [{ mode: 'on' }, `mode: expected ${aMode}, received 'on'`],
    [{ rules: { case: 'on' } }, `rules.case: expected ${aMode}, received 'on'`],
    [
      { rules: { casing: 'off' } },
      'rules.casing: there is no such option; expected one of case, slash, words',
    ],
    [
      excepting({ url: 'docs' }),
      "exceptions[1].url: expected a path such as '/metrics' or '/docs/*', received 'docs'",
    ],
    [
      excepting({ except: ['casing'] }),
      "exceptions[1].except[0]: expected one of 'case', 'slash', 'words', received 'casing'",
    ],
    [excepting({ reason: '' }), "exceptions[1].reason: expected a non-empty string, received ''"],
  ]
  for (const [options, message] of rows)
    t.throws(() => check('guard', options), { message: `guard.${message}` }, message)
})

t.test('options of a route are checked', async (t) => {
  const check = objectOf(checksOf(routeRuleOptions(names)))
  const options = { except: ['case'], reason: 'why', mode: 'report', rules: { slash: 'off' } }
  t.strictSame(check('guard', options), options)
  t.throws(() => check('guard', { except: 'case' }), {
    message: "guard.except: expected an array, received 'case'",
  })
  t.throws(() => check('guard', { exceptions: [] }), { code: 'FST_CONV_OPTION_UNKNOWN' })
})
