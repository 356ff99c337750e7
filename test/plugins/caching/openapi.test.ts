import t from 'tap'
import { describeCaching } from '../../../src/plugins/caching/plan.js'

const plan = {
  tagsBytes: true,
  validators: undefined,
  validatorsOf: undefined,
  isPreconditionRequired: false,
}

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
  t.strictSame(Object.keys(tagged.headers ?? {}), ['ETag', 'Last-Modified'], 'a write with validators')
})

t.test('the headers of a read: those that are sent', async (t) => {
  const headers = (given: Parameters<typeof describeCaching>[1]) => {
    const { allHeaders = {}, headers: ok = {}, headersOf = {} } = describeCaching(['GET'], given)
    return [allHeaders, ok, headersOf[304] ?? {}].map((one) => Object.keys(one))
  }
  const all = ['Cache-Control']
  t.strictSame(headers(plan), [all, ['ETag', 'Last-Modified'], ['ETag', 'Vary']])
  const untagged = { ...plan, tagsBytes: false }
  t.strictSame(headers(untagged), [all, ['Last-Modified'], ['Last-Modified', 'Vary']])
  t.strictSame(headers({ ...untagged, validators: () => null }), headers(plan))
})

t.test('the conditions that a route takes', async (t) => {
  const names = (...given: Parameters<typeof describeCaching>) =>
    Object.keys(describeCaching(...given).parameters ?? {})
  const guarded = { ...plan, validators: () => null }
  t.strictSame(names(['GET'], plan), [
    'If-None-Match',
    'If-Modified-Since',
    'If-Match',
    'If-Unmodified-Since',
  ])
  t.strictSame(names(['PUT'], guarded), ['If-Match', 'If-Unmodified-Since', 'If-None-Match'])
  t.strictSame(names(['POST'], plan), [], 'a write without validators')
})
