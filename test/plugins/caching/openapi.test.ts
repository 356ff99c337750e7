import t from 'tap'
import { describeCaching } from '../../../src/plugins/caching/openapi.js'

const plan = { validators: null, validatorsOf: null, isPreconditionRequired: false }

t.test('the additions to a route, by its methods and options', async (t) => {
  const statuses = (...given: Parameters<typeof describeCaching>) => {
    const { statuses: empty = {}, problems = [] } = describeCaching(...given)
    return [...Object.keys(empty), ...problems.map(({ status }) => `${status}`)]
  }
  const guarded = { ...plan, validators: () => null }
  const required = { ...guarded, isPreconditionRequired: true }
  t.strictSame(statuses(['GET', 'HEAD'], plan), ['304', '412'])
  t.strictSame(statuses(['GET', 'HEAD'], required), ['304', '412'])
  t.strictSame(statuses(['PUT'], guarded), ['412'])
  t.strictSame(statuses(['PUT'], required), ['412', '428'])
  t.strictSame(statuses(['GET', 'PUT'], required), ['304', '412', '428'])
  t.strictSame(statuses(['PUT'], plan), [])
  const tagged = describeCaching(['PUT'], { ...plan, validatorsOf: () => null })
  t.strictSame(Object.keys(tagged.headers ?? {}), ['ETag'], 'a write whose response has the new ETag')
})

t.test('the conditions that a route takes', async (t) => {
  const names = (...given: Parameters<typeof describeCaching>) =>
    Object.keys(describeCaching(...given).parameters ?? {})
  const guarded = { ...plan, validators: () => null }
  t.strictSame(names(['GET'], plan), ['If-None-Match', 'If-Modified-Since', 'If-Match'])
  t.strictSame(names(['PUT'], guarded), ['If-Match', 'If-Unmodified-Since', 'If-None-Match'])
  t.strictSame(names(['POST'], plan), [], 'a write without validators')
})
