/** RFC 9110 §15.4.5: what a 304 has of the headers that the 200 would have had. */
import t from 'tap'
import { droppedFrom304, isDroppedFrom304 } from '../../../src/plugins/caching/retained-headers.js'

t.test('RFC 9110 §15.4.5: a 304 has all the fields that it must have', async (t) => {
  for (const name of ['cache-control', 'content-location', 'date', 'etag', 'expires', 'vary']) {
    t.equal(isDroppedFrom304(name, true), false, name)
    t.equal(isDroppedFrom304(name, false), false, name)
  }
})

t.test('RFC 9110 §15.4.5: no other representation metadata, and nothing of a content', async (t) => {
  const dropped = [
    'content-type',
    'content-encoding',
    'content-language',
    'content-disposition',
    'content-length',
    'content-range',
    'content-digest',
    'repr-digest',
    'digest',
    'content-md5',
    'transfer-encoding',
    'trailer',
  ]
  for (const name of dropped) {
    t.equal(isDroppedFrom304(name, true), true, name)
    t.equal(isDroppedFrom304(name, false), true, name)
  }
  t.same([...droppedFrom304], dropped)
})

t.test('RFC 9110 §15.4.5: Last-Modified guides cache updates where there is no ETag', async (t) => {
  t.equal(isDroppedFrom304('last-modified', true), true)
  t.equal(isDroppedFrom304('last-modified', false), false)
})

t.test('decisions §4: CORS and rate headers stay, and all that is no representation metadata', async (t) => {
  for (const name of [
    'access-control-allow-origin',
    'access-control-allow-credentials',
    'access-control-expose-headers',
    'ratelimit',
    'ratelimit-policy',
    'x-ratelimit-remaining',
    'retry-after',
    'link',
    'deprecation',
    'sunset',
    'strict-transport-security',
    'content-security-policy',
    'cross-origin-resource-policy',
    'x-content-type-options',
    'set-cookie',
    'x-request-id',
    'accept-ranges',
    'age',
    'connection',
    'keep-alive',
  ]) {
    t.equal(isDroppedFrom304(name, true), false, name)
  }
})
