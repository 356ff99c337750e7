import t from 'tap'
import { exposedHeaders } from '../../../src/plugins/cors/cors-headers.js'

const ofConventions =
  'Location, Operation-Location, Link, ETag, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, ' +
  'Preference-Applied, Idempotent-Replayed'

t.test('the headers of the conventions come first, then those of exposedHeaders, each once', async (t) => {
  t.equal(exposedHeaders([]), ofConventions)
  t.equal(exposedHeaders(['X-Total', 'etag', 'Digest']), `${ofConventions}, X-Total, Digest`)
})
