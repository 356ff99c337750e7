import { checksOf, type DeclaredOptions, type ResolvedOptions, resolveOptions } from '../options.js'
import { offsetBreach } from '../plugins/lists/openapi.js'
import { listsOptions } from '../plugins/lists/options.js'
import { pathGuardOptions, vocabularyOf as pathVocabularyOf } from '../plugins/path-guard/options.js'
import { breachesOfAll, pathRuleNames } from '../plugins/path-guard/path-rules.js'
import { documentedErrors } from '../plugins/problems/openapi.js'
import { problemsOptions } from '../plugins/problems/options.js'
import { routeBreaches, schemaBreaches, successSchemas } from '../plugins/response-rules/breaches.js'
import { responseRuleNames, responseRulesOptions, vocabularyOf } from '../plugins/response-rules/options.js'
import { unlistedBreach, versionReader } from '../plugins/versions/lifecycle.js'
import { versionsOptions } from '../plugins/versions/options.js'
import type { ConventionsOptions } from '../preset.js'
import { type Mode, matchesUrl, modesOf, type RuleException } from '../report/modes.js'
import type { SchemaStore } from '../schema/json-schema.js'
import { type DocumentRoute, documentRoutes, openApiPath } from './document-routes.js'

interface Breach {
  readonly rule: string
  readonly problem: string
  readonly instead: string
}

/** What a document shows of the rules of a convention. */
interface DocumentRules {
  readonly modeOf: Readonly<Record<string, Mode>>
  breachesIn(
    routes: readonly DocumentRoute[],
    schemas: SchemaStore,
  ): (route: DocumentRoute) => readonly (Breach | null)[]
}

interface Convention extends DocumentRules {
  readonly plugin: 'lists' | 'pathGuard' | 'problems' | 'responseRules' | 'versions'
  readonly exceptions: readonly RuleException<string>[]
}

export function documentLinter(given: ConventionsOptions) {
  const { exceptions = [], mode = 'enforce', basePath = '' } = given
  const conventions: Convention[] = []

  function add<Declared extends DeclaredOptions>(
    plugin: Convention['plugin'],
    declared: Declared,
    rulesOf: (options: ResolvedOptions<Declared>) => DocumentRules,
  ): void {
    const own: object | false = given[plugin] ?? {}
    if (own === false) return
    const [checks, defaults] = checksOf(declared)
    const ofPreset = { ...defaults, mode, basePath }
    const options = resolveOptions<object, typeof ofPreset>(plugin, own, checks, ofPreset)
    const { exceptions: ofRules = [] } = options as Partial<Convention>
    conventions.push({ plugin, exceptions: ofRules, ...rulesOf(options as ResolvedOptions<Declared>) })
  }

  add('pathGuard', pathGuardOptions, (options) => {
    const modeOf = modesOf(pathRuleNames, options)
    const applies = (rule: keyof typeof modeOf): boolean => modeOf[rule] !== 'off'
    return {
      modeOf,
      breachesIn(routes) {
        const ruled = routes.map((route) => ({ route, methods: [route.method], path: route.path, applies }))
        const found = breachesOfAll(ruled, pathVocabularyOf(options), options.basePath ?? '')
        const breachesOf = new Map(found.map(({ route, breaches }) => [route, breaches]))
        return (route) =>
          (breachesOf.get(route) ?? []).map(({ rule, problem, instead }) => ({
            rule,
            problem: openApiPath(problem),
            instead: openApiPath(instead),
          }))
      },
    }
  })
  add('versions', versionsOptions, (options) => {
    const readVersion = versionReader(options.basePath ?? '')
    const listed = Object.keys(options.versions)
    return {
      modeOf: modesOf(['listed'], options),
      breachesIn: () => (route) => [unlistedBreach(readVersion(route.path), listed)],
    }
  })
  add('lists', listsOptions, (options) => ({
    modeOf: { offset: options.mode },
    breachesIn: () => (route) => [route.method === 'GET' ? offsetBreach(route.query) : null],
  }))
  add('responseRules', responseRulesOptions, (options) => {
    const vocabulary = vocabularyOf(options)
    return {
      modeOf: modesOf(responseRuleNames, options),
      breachesIn: (_, schemas) => (route) =>
        routeBreaches(successSchemas(route.response).judged, (schema) =>
          schemaBreaches(schema, schemas, vocabulary),
        ).breaches,
    }
  })
  add('problems', problemsOptions, (options) => ({
    // The boot only logs it.
    modeOf: { documented: options.mode === 'off' ? 'off' : 'report' },
    breachesIn: () => (route) => documentedErrors(route.response),
  }))

  return {
    rules: conventions.flatMap(({ plugin, modeOf }) =>
      Object.entries(modeOf)
        .filter(([, ruleMode]) => ruleMode !== 'off')
        .map(([rule, ruleMode]) => ({ name: `${plugin}.${rule}`, plugin, mode: ruleMode })),
    ),
    find(document: unknown) {
      const { routes, schemas } = documentRoutes(document)
      return conventions.flatMap(({ plugin, modeOf, exceptions: ofRules, breachesIn }) => {
        const exceptedAt = (path: string): readonly string[] =>
          [...exceptions.map((one) => ({ except: [plugin], ...one })), ...ofRules]
            .filter(({ url }) => matchesUrl(url, path))
            .flatMap(({ except }) => except)
        const judged = routes.filter(({ path }) => !path.includes('*') && !exceptedAt(path).includes(plugin))
        const breachesOf = breachesIn(judged, schemas)
        return judged.flatMap((route) =>
          breachesOf(route)
            .filter((breach) => breach !== null)
            .filter(({ rule }) => modeOf[rule] !== 'off' && !exceptedAt(route.path).includes(rule))
            .map((breach) => ({ ...breach, rule: `${plugin}.${breach.rule}`, location: route.location })),
        )
      })
    },
  }
}
