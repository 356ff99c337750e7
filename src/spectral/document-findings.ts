import { checksOf, resolveOptions } from '../options.js'
import { offsetBreach } from '../plugins/lists/openapi.js'
import { listsOptions } from '../plugins/lists/options.js'
import { pathGuardOptions, vocabularyOf as pathVocabularyOf } from '../plugins/path-guard/options.js'
import { breachesOfAll, type PathRule, pathRuleNames } from '../plugins/path-guard/path-rules.js'
import { documentedErrors } from '../plugins/problems/openapi.js'
import { problemsOptions } from '../plugins/problems/options.js'
import { routeBreaches, schemaBreaches, successSchemas } from '../plugins/response-rules/breaches.js'
import { responseRuleNames, responseRulesOptions, vocabularyOf } from '../plugins/response-rules/options.js'
import { unlistedBreach, versionReader } from '../plugins/versions/lifecycle.js'
import { versionsOptions } from '../plugins/versions/options.js'
import type { ConventionsOptions } from '../preset.js'
import { type Mode, matchesUrl, modesOf, type RuleException } from '../report/modes.js'
import { type DocumentRoute, type DocumentRoutes, documentRoutes, openApiPath } from './document-routes.js'

export interface DocumentRule {
  /** Name of the plugin and of the rule, as in the findings at boot: `pathGuard.plural`. */
  readonly name: string
  readonly plugin: string
  readonly mode: Exclude<Mode, 'off'>
}

export interface DocumentFinding {
  readonly rule: string
  readonly problem: string
  readonly instead: string
  readonly location: readonly string[]
}

export interface DocumentLinter {
  readonly rules: readonly DocumentRule[]
  find(document: unknown): readonly DocumentFinding[]
}

export function documentLinter(options: ConventionsOptions): DocumentLinter {
  const { exceptions = [] } = options
  const conventions = [
    pathGuard(options),
    versions(options),
    lists(options),
    responseRules(options),
    problems(options),
  ].filter((one) => one !== null)
  return {
    rules: conventions.flatMap(({ plugin, modeOf }) =>
      Object.entries(modeOf).flatMap(([rule, mode]) =>
        mode === 'off' ? [] : [{ name: `${plugin}.${rule}`, plugin, mode }],
      ),
    ),
    find(document) {
      const { routes, schemas } = documentRoutes(document)
      return conventions.flatMap(({ plugin, modeOf, exceptions: ofRules, breachesOf }) => {
        const ofApi = routes.filter(
          ({ path }) =>
            !path.includes('*') &&
            !exceptions.some(
              ({ url, except }) => matchesUrl(url, path) && (except?.some((name) => name === plugin) ?? true),
            ),
        )
        return breachesOf({ routes: ofApi, schemas })
          .filter(({ route, rule }) => modeOf[rule] !== 'off' && !isExcepted(ofRules, route, rule))
          .map(({ route, rule, problem, instead }) => ({
            rule: `${plugin}.${rule}`,
            problem,
            instead,
            location: route.location,
          }))
      })
    },
  }
}

interface DocumentConvention {
  readonly plugin: string
  readonly modeOf: Readonly<Record<string, Mode>>
  readonly exceptions: readonly RuleException<string>[]
  readonly breachesOf: (document: DocumentRoutes) => readonly RouteBreach[]
}

interface RouteBreach {
  readonly route: DocumentRoute
  readonly rule: string
  readonly problem: string
  readonly instead: string
}

function pathGuard({ pathGuard: given = {}, mode = 'enforce', basePath = '' }: ConventionsOptions) {
  if (given === false) return null
  const [checks, defaults] = checksOf(pathGuardOptions)
  const options = resolveOptions('pathGuard', given, checks, { ...defaults, mode, basePath })
  const vocabulary = pathVocabularyOf(options)
  const modes = modesOf(pathRuleNames, options)
  const breachesOf = ({ routes }: DocumentRoutes): RouteBreach[] => {
    const ruled = routes.map((route) => ({
      route,
      methods: [route.method],
      path: route.path,
      applies: (rule: PathRule) => modes[rule] !== 'off',
    }))
    return breachesOfAll(ruled, vocabulary, options.basePath).flatMap(({ route, breaches }) =>
      breaches.map(({ rule, problem, instead }) => ({
        route,
        rule,
        problem: openApiPath(problem),
        instead: openApiPath(instead),
      })),
    )
  }
  return convention('pathGuard', modes, breachesOf, options.exceptions)
}

function versions({ versions: given = {}, mode = 'enforce', basePath = '' }: ConventionsOptions) {
  if (given === false) return null
  const [checks, defaults] = checksOf(versionsOptions)
  const options = resolveOptions('versions', given, checks, { ...defaults, mode, basePath })
  const readVersion = versionReader(options.basePath)
  const listed = Object.keys(options.versions)
  const breachesOf = ({ routes }: DocumentRoutes): RouteBreach[] =>
    routes.flatMap((route) => {
      const breach = unlistedBreach(readVersion(route.path), listed)
      return breach === null ? [] : [{ route, ...breach }]
    })
  return convention('versions', modesOf(['listed'], options), breachesOf, options.exceptions)
}

function lists({ lists: given = {}, mode = 'enforce' }: ConventionsOptions) {
  if (given === false) return null
  const [checks, defaults] = checksOf(listsOptions)
  const options = resolveOptions<object, typeof defaults>('lists', given, checks, { ...defaults, mode })
  const breachesOf = ({ routes }: DocumentRoutes): RouteBreach[] =>
    routes.flatMap((route) => {
      const breach = route.method === 'GET' ? offsetBreach(route.query) : null
      return breach === null ? [] : [{ route, ...breach }]
    })
  return convention('lists', { offset: options.mode }, breachesOf)
}

function responseRules({ responseRules: given = {}, mode = 'enforce' }: ConventionsOptions) {
  if (given === false) return null
  const [checks, defaults] = checksOf(responseRulesOptions)
  const options = resolveOptions('responseRules', given, checks, { ...defaults, mode })
  const vocabulary = vocabularyOf(options)
  const breachesOf = ({ routes, schemas }: DocumentRoutes): RouteBreach[] =>
    routes.flatMap((route) => {
      const { judged } = successSchemas(route.response)
      const { breaches } = routeBreaches(judged, (schema) => schemaBreaches(schema, schemas, vocabulary))
      return breaches.map((breach) => ({ route, ...breach }))
    })
  return convention('responseRules', modesOf(responseRuleNames, options), breachesOf, options.exceptions)
}

function problems({ problems: given = {}, mode = 'enforce' }: ConventionsOptions) {
  if (given === false) return null
  const [checks, defaults] = checksOf(problemsOptions)
  const options = resolveOptions<object, typeof defaults>('problems', given, checks, { ...defaults, mode })
  const breachesOf = ({ routes }: DocumentRoutes): RouteBreach[] =>
    routes.flatMap((route) => documentedErrors(route.response).map((breach) => ({ route, ...breach })))
  // The boot only logs it.
  return convention('problems', { documented: options.mode === 'off' ? 'off' : 'report' }, breachesOf)
}

function convention(
  plugin: string,
  modeOf: DocumentConvention['modeOf'],
  breachesOf: DocumentConvention['breachesOf'],
  exceptions: DocumentConvention['exceptions'] = [],
): DocumentConvention {
  return { plugin, modeOf, exceptions, breachesOf }
}

function isExcepted(
  exceptions: readonly RuleException<string>[],
  { path }: DocumentRoute,
  rule: string,
): boolean {
  return exceptions.some(({ url, except }) => matchesUrl(url, path) && except.includes(rule))
}
