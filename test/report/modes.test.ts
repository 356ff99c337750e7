import fc from 'fast-check'
import t from 'tap'
import { checksOf, objectOf } from '../../src/options.js'
import {
  exceptionsOf,
  type Mode,
  modes,
  modesOf,
  type RouteRuleOptions,
  type RuleException,
  routeRuleOptions,
  ruleOptions,
} from '../../src/report/modes.js'

const names = ['case', 'slash', 'words'] as const
type Rule = (typeof names)[number]

const enforce = { mode: 'enforce', rules: {} } as const
const label = 'GET /v1/x config.guard'

t.test('precedence of modes: exception, rule of the route, route, rule of the plugin, plugin', async (t) => {
  const options = { mode: 'report', rules: { slash: 'off' } } as const
  t.strictSame(modesOf(names, enforce), { case: 'enforce', slash: 'enforce', words: 'enforce' })
  t.strictSame(modesOf(names, options), { case: 'report', slash: 'off', words: 'report' })
  t.strictSame(modesOf(names, options, { mode: 'enforce' }), {
    case: 'enforce',
    slash: 'enforce',
    words: 'enforce',
  })
  t.strictSame(modesOf(names, options, { mode: 'enforce', rules: { case: 'off' } }), {
    case: 'off',
    slash: 'enforce',
    words: 'enforce',
  })
  t.strictSame(modesOf(names, enforce, {}, [{ except: ['words'], reason: 'why' }]), {
    case: 'enforce',
    slash: 'enforce',
    words: 'off',
  })
  t.strictSame(modesOf(names, enforce, false), { case: 'off', slash: 'off', words: 'off' })
})

t.test('any combination: the mode is the first one set, in the order of precedence', async () => {
  const mode = fc.constantFrom(...modes)
  const rules = fc.record({ case: mode, slash: mode, words: mode }, { requiredKeys: [] })
  const own = fc.record({ mode, rules }, { requiredKeys: [] })
  const excepted = fc.subarray([...names])
  fc.assert(
    fc.property(fc.record({ mode, rules }), own, excepted, (options, route, except) => {
      const modeOf = modesOf(names, options, route, [{ except, reason: 'why' }])
      return names.every((rule) => {
        const settings: (Mode | undefined)[] = [
          except.includes(rule) ? 'off' : undefined,
          route.rules?.[rule],
          route.mode,
          options.rules[rule],
          options.mode,
        ]
        return modeOf[rule] === settings.find((setting) => setting !== undefined)
      })
    }),
  )
})

t.test('exceptions of a path: those of the route, and those of the plugin for its pattern', async (t) => {
  const metrics: RuleException<Rule> = { url: '/metrics', except: ['words'], reason: 'of a plugin' }
  const docs: RuleException<Rule> = { url: '/docs/*', except: ['case', 'slash'], reason: 'a user interface' }
  const all: RuleException<Rule> = { url: '*', except: ['case'], reason: 'everything' }
  const declared = [metrics, docs]
  const rows: readonly (readonly [path: string, held: readonly RuleException<Rule>[]])[] = [
    ['/metrics', [metrics]],
    ['/metrics/', []],
    ['/metrics/x', []],
    ['/docs/static/index.html', [docs]],
    ['/docs/', [docs]],
    ['/docs', [docs]],
    ['/docsx', []],
    ['/v1/docs/x', []],
  ]
  for (const [path, held] of rows) t.same(exceptionsOf(path, label, {}, declared), held, path)
  t.same(exceptionsOf('/v1/users', label, {}, [all]), [all])
  const likes: RuleException<Rule> = { url: '/docs*', except: ['case'], reason: 'and its likes' }
  t.same(exceptionsOf('/docsx', label, {}, [likes]), [likes])

  const own: RouteRuleOptions<Rule> = { except: ['case'], reason: 'published' }
  t.same(exceptionsOf('/metrics', label, own, declared), [metrics, { except: ['case'], reason: 'published' }])
  t.same(exceptionsOf('/x', label, { reason: 'a reason alone excepts nothing' }, declared), [])
})

t.test('an exception of a route needs its reason', async (t) => {
  t.throws(() => exceptionsOf<Rule>('/x', label, { except: ['case'] }, []), {
    code: 'FST_CONV_OPTION_INVALID',
    message: 'GET /v1/x config.guard.reason: expected the reason for the exception, received undefined',
  })
})

t.test('options of rules are checked', async (t) => {
  const check = objectOf(checksOf(ruleOptions(names))[0])
  const exception = { url: '/docs/*', except: ['case'], reason: 'why' }
  for (const options of [{}, { mode: 'off' }, { rules: { case: 'report' } }, { exceptions: [exception] }]) {
    t.strictSame(check('guard', options), options, JSON.stringify(options))
  }
  const expected = "one of 'enforce', 'report', 'off'"
  const rows: readonly (readonly [options: object, message: string])[] = [
    [{ mode: 'on' }, `guard.mode: expected ${expected}, received 'on'`],
    [{ rules: { case: 'on' } }, `guard.rules.case: expected ${expected}, received 'on'`],
    [
      { rules: { casing: 'off' } },
      'guard.rules.casing: there is no such option; expected one of case, slash, words',
    ],
    [{ exceptions: {} }, 'guard.exceptions: expected an array, received {}'],
    [
      { exceptions: [{ ...exception, url: 'docs' }] },
      "guard.exceptions[0].url: expected a path such as '/metrics' or '/docs/*', received 'docs'",
    ],
    [
      { exceptions: [exception, { ...exception, except: ['casing'] }] },
      "guard.exceptions[1].except[0]: expected one of 'case', 'slash', 'words', received 'casing'",
    ],
    [
      { exceptions: [{ ...exception, reason: '' }] },
      "guard.exceptions[0].reason: expected a non-empty string, received ''",
    ],
    [
      { exceptions: [{ url: '/docs', except: ['case'] }] },
      'guard.exceptions[0].reason: expected a non-empty string, received undefined',
    ],
  ]
  for (const [options, message] of rows) t.throws(() => check('guard', options), { message }, message)
})

t.test('options of a route are checked', async (t) => {
  const check = objectOf(checksOf(routeRuleOptions(names))[0])
  const options = { except: ['case'], reason: 'why', mode: 'report', rules: { slash: 'off' } }
  t.strictSame(check('guard', options), options)
  t.throws(() => check('guard', { except: 'case' }), {
    message: "guard.except: expected an array, received 'case'",
  })
  t.throws(() => check('guard', { exceptions: [] }), { code: 'FST_CONV_OPTION_UNKNOWN' })
})
