import type { ConventionsOptions } from '../preset.js'
import { pageOf } from '../report/format-report.js'
import { documentLinter } from './document-findings.js'

/** A rule of a ruleset of Spectral. */
export interface SpectralRule {
  readonly description: string
  readonly message: '{{error}}'
  readonly severity: 'error' | 'warn'
  readonly given: '$'
  /** A schema that is referred to twice has a finding once, as at boot. */
  readonly resolved: false
  readonly then: {
    /** Returns the results of the rule in a document. */
    readonly function: (document: unknown, options: unknown, context: SpectralContext) => SpectralResult[]
  }
}

/** What Spectral passes to a rule besides the document. */
export interface SpectralContext {
  /** The document, with references to other files resolved. */
  readonly documentInventory: { readonly resolved: unknown }
}

/** What a rule of Spectral finds. */
export interface SpectralResult {
  readonly message: string
  /** Where the operation is in the document. */
  readonly path: string[]
}

/** A ruleset of Spectral. */
export interface SpectralRuleset {
  /** By plugin and rule, as in the findings at boot: `pathGuard.plural`. */
  readonly rules: Record<string, SpectralRule>
}

/**
 * Returns a ruleset of Spectral with the rules that the conventions check at boot, as far as an OpenAPI 3 document shows them:
 * paths, versions, response schemas, paging by offset, and documented errors. A rule in the mode `report` is a warning.
 *
 * ```js
 * // .spectral.js
 * export default { extends: [conventionsRuleset({ basePath: '/api' })] }
 * ```
 *
 * Not for what only requests show: `assertConventions` of `fastify-conventions/testing` probes the app.
 *
 * @param options those of the preset; it ignores those of conventions that a document does not show
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function conventionsRuleset(options: ConventionsOptions = {}): SpectralRuleset {
  const { rules, find } = documentLinter(options)
  const known = new WeakMap<object, ReturnType<typeof find>>()
  // Spectral calls each rule with the same document.
  function findingsIn(document: unknown, { resolved }: SpectralContext['documentInventory']) {
    if (typeof document !== 'object' || document === null) return []
    const findings = known.get(document) ?? find(hasOtherFiles(document) ? resolved : document)
    known.set(document, findings)
    return findings
  }
  const entries = rules.map(({ name, plugin, mode }): [string, SpectralRule] => [
    name,
    {
      description: `See ${pageOf(plugin)}`,
      message: '{{error}}',
      severity: mode === 'enforce' ? 'error' : 'warn',
      given: '$',
      resolved: false,
      // biome-ignore lint/suspicious/noThenProperty: Spectral calls it that.
      then: {
        function: (document, _options, { documentInventory }) =>
          findingsIn(document, documentInventory)
            .filter(({ rule }) => rule === name)
            .map(({ problem, instead, location }) => ({
              message: `${problem}; write instead: ${instead}`,
              path: [...location],
            })),
      },
    },
  ])
  return { rules: Object.fromEntries(entries) }
}

function hasOtherFiles(document: object): boolean {
  return /"\$ref":"(?!#)/.test(JSON.stringify(document))
}
