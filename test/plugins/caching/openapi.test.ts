import t from 'tap'
import { describeCaching } from '../../../src/plugins/caching/plan.js'

const plan = {
  reads: true,
  writes: false,
  tagsBytes: true,
  validators: undefined,
  validatorsOf: undefined,
  isPreconditionRequired: false,
}
const writing = { reads: false, writes: true }
const ofPut = { ...plan, ...writing }

t.test('the additions to a route, by its methods and options', async (t) => {
  const statuses = (given: Parameters<typeof describeCaching>[0]) => {
    const { statuses: empty = {}, problems = [] } = describeCaching(given)
    return [...Object.keys(empty), ...problems.map(({ status }) => `${status}`)]
  }
  const required = { ...plan, validators: () => null, isPreconditionRequired: true }
  t.strictSame(statuses(plan), ['304', '412'])
  t.strictSame(statuses(required), ['304', '412'])
  t.strictSame(statuses({ ...ofPut, validators: () => null }), ['412'])
  t.strictSame(statuses({ ...required, ...writing }), ['412', '428'])
  t.strictSame(statuses({ ...required, writes: true }), ['304', '412', '428'])
  t.strictSame(statuses(ofPut), [])
  const tagged = describeCaching({ ...ofPut, validatorsOf: () => null })
  t.strictSame(Object.keys(tagged.headers ?? {}), ['ETag', 'Last-Modified'], 'a write with validators')
})

t.test('the headers of a read: those that are sent', async (t) => {
  const headers = (given: Parameters<typeof describeCaching>[0]) => {
    const { allHeaders = {}, headers: ok = {}, headersOf = {} } = describeCaching(given)
    return [allHeaders, ok, headersOf[304] ?? {}].map((one) => Object.keys(one))
  }
  const all = ['Cache-Control']
  t.strictSame(headers(plan), [all, ['ETag', 'Last-Modified'], ['ETag', 'Vary']])
  const untagged = { ...plan, tagsBytes: false }
  t.strictSame(headers(untagged), [all, ['Last-Modified'], ['Last-Modified', 'Vary']])
  t.strictSame(headers({ ...untagged, validators: () => null }), headers(plan))
})

t.test('the conditions that a route takes', async (t) => {
  const names = (given: Parameters<typeof describeCaching>[0]) =>
    Object.keys(describeCaching(given).parameters ?? {})
  t.strictSame(names(plan), ['If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'])
  t.strictSame(names({ ...ofPut, validators: () => null }), [
    'If-Match',
    'If-Unmodified-Since',
    'If-None-Match',
  ])
  t.strictSame(names(ofPut), [], 'a write without validators')
})
