import fc from 'fast-check'
import t from 'tap'
import { checksOf, objectOf } from '../../src/options.js'
import * as report from '../../src/report/modes.js'

const names = ['case', 'slash', 'words'] as const
const code = 'FST_CONV_OPTION_INVALID'
type Rule = (typeof names)[number]

const label = 'GET /v1/x config.guard'

t.test('precedence of modes: exception, rule of the route, route, rule of the plugin, plugin', async () => {
  const mode = fc.constantFrom(...report.modes)
  const rules = fc.record({ case: mode, slash: mode, words: mode }, { requiredKeys: [] })
  const own = fc.record({ mode, rules }, { requiredKeys: [] })
  const excepted = fc.subarray([...names])
  fc.assert(
    fc.property(fc.record({ mode, rules }), own, excepted, (options, route, except) => {
      const modeOf = report.modesOf(names, options, route, [{ except, reason: 'why' }])
      return names.every((rule) => {
        const off = except.includes(rule) ? 'off' : undefined
        const set = off ?? route.rules?.[rule] ?? route.mode ?? options.rules[rule] ?? options.mode
        return modeOf[rule] === set
      })
    }),
  )
})

t.test('exceptions of a path: those of the route, and those of the plugin for its pattern', async (t) => {
  const named = (url: string, ...except: Rule[]) => ({ url, except, reason: 'why' })
  const metrics = named('/metrics', 'words')
  const docs = named('/docs/*', 'case', 'slash')
  const all = named('*', 'case')
  const likes = named('/docs*', 'case')
  const rows: readonly (readonly [path: string, held: readonly report.RuleException<Rule>[]])[] = [
    ['/metrics', [metrics, all]],
    ['/metrics/', [all]],
    ['/docs/static/index.html', [docs, all, likes]],
    ['/docs', [docs, all, likes]],
    ['/docsx', [all, likes]],
  ]
  for (const [path, held] of rows)
    t.same(report.exceptionsOf(path, label, {}, [metrics, docs, all, likes]), held, path)

  const own: report.RouteRuleOptions<Rule> = { except: ['case'], reason: 'published' }
  t.same(report.exceptionsOf('/metrics', label, own, [metrics, docs]), [metrics, own])
  t.same(report.exceptionsOf('/x', label, { reason: 'a reason alone excepts nothing' }, [metrics]), [])
  const message = `${label}.reason: expected the reason for the exception, received undefined`
  t.throws(() => report.exceptionsOf<Rule>('/x', label, { except: ['case'] }, []), { code, message })
})

t.test('why rules do not apply to a route, for what it is', async (t) => {
  const all = ['PUT', 'GET', 'POST', 'DELETE', 'PATCH']
  for (const [own, ...expected] of [
    [{}, false, false, false],
    [{ path: '/files/*' }, true, true, true],
    [{ websocket: true }, true, true, true],
    [{ websocket: false }, false, false, false],
    [{ method: all }, true, false, true],
    [{ method: all.slice(1) }, false, false, false],
    [{ schema: { hide: true } }, true, true, false],
    [{ schema: { hide: false } }, false, false, false],
  ] as const) {
    const route = { method: 'GET', url: '', path: '/v1/users', handler: async () => ({}), ...own }
    const { exclusionReasonOf, nonJsonReasonOf, foreignReasonOf } = report
    const reasons = [exclusionReasonOf, nonJsonReasonOf, foreignReasonOf].map((reasonOf) => reasonOf(route))
    const found = reasons.map((reason) => reason !== null)
    t.strictSame(found, expected, JSON.stringify(own))
  }
})

t.test('options of rules are checked', async (t) => {
  const check = objectOf(checksOf(report.ruleOptions(names)))
  const exception = { url: '/docs/*', except: ['case'], reason: 'why' }
  for (const options of [{}, { mode: 'off' }, { rules: { case: 'report' } }, { exceptions: [exception] }]) {
    t.strictSame(check('guard', options), options, JSON.stringify(options))
  }
  const aMode = "one of 'enforce', 'report', 'off'"
  const excepting = (own: object) => ({ exceptions: [exception, { ...exception, ...own }] })
  for (const [options, message] of [
    [{ mode: 'on' }, `mode: expected ${aMode}, received 'on'`],
    [{ rules: { case: 'on' } }, `rules.case: expected ${aMode}, received 'on'`],
    [{ rules: { casing: 'off' } }, 'rules.casing: there is no such option; expected one of case, slash, wo'],
    [excepting({ url: 'docs' }), 'exceptions[1].url: expected a path such as '],
    [excepting({ except: ['casing'] }), "exceptions[1].except[0]: expected one of 'case', 'slash', 'words'"],
    [excepting({ reason: '' }), "exceptions[1].reason: expected a non-empty string, received ''"],
  ] as const)
    t.throws(() => check('guard', options), { message: `guard.${message}` }, message)
})

t.test('options of a route are checked', async (t) => {
  const check = objectOf(checksOf(report.routeRuleOptions(names)))
  const options = { except: ['case'], reason: 'why', mode: 'report', rules: { slash: 'off' } }
  t.strictSame(check('guard', options), options)
  t.throws(() => check('guard', { except: 'case' }), { message: /guard\.except: expected an array/ })
  t.throws(() => check('guard', { exceptions: [] }), { code: 'FST_CONV_OPTION_UNKNOWN' })
})
