/** How often the rules are right on routes of public APIs: the share of findings that are right, and of faults found. */
import t, { type Test } from 'tap'
import { pathBreaches } from '../../../src/plugins/path-guard/path-rules.js'
import { knownVerbs, type PathVocabulary } from '../../../src/plugins/path-guard/path-words.js'
import { everydayPaths, otherPaths } from './everyday-paths.js'

const plain: PathVocabulary = {
  collections: new Set(),
  verbs: new Set(knownVerbs),
  selfAliases: new Set(['me', 'self']),
}

t.test('everyday paths: findings that people agree with, and few faults missed', async (t) => {
  t.ok(everydayPaths.length >= 200, 'two hundred paths')
  measure(t, everydayPaths, { precision: 0.98, recall: 0.98 })
})

t.test('everyday paths that were labelled after the rules were tuned', async (t) => {
  measure(t, otherPaths, { precision: 0.9, recall: 0.9 })
})

function measure(
  t: Test,
  paths: typeof everydayPaths,
  floor: { readonly precision: number; readonly recall: number },
): void {
  const wrong: string[] = []
  const missed: string[] = []
  let right = 0
  for (const { method, path, rules } of paths) {
    const found = pathBreaches([method], path, plain)
    for (const { rule, instead } of found) {
      if (rules.includes(rule)) right++
      else wrong.push(`${method} ${path}: ${rule}, ${instead}`)
    }
    for (const rule of rules) {
      if (found.every((breach) => breach.rule !== rule)) missed.push(`${method} ${path}: ${rule}`)
    }
  }
  const precision = right / (right + wrong.length)
  const recall = right / (right + missed.length)
  t.comment(`precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)} of ${paths.length} paths`)
  t.ok(precision >= floor.precision, `precision, wrong: ${wrong.join('; ')}`)
  t.ok(recall >= floor.recall, `recall, missed: ${missed.join('; ')}`)
}
