import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { maxKeyLength } from './fingerprint.js'
import type { KeyRules } from './options.js'

/** Returns the header `Idempotency-Key` of a route and its responses, for the OpenAPI document. */
export function describeIdempotency({ required }: Pick<KeyRules, 'required'>): RouteDescription {
  return {
    allHeaders: {
      'Idempotent-Replayed': {
        type: 'string',
        enum: ['true'],
        description: 'The response is that of an earlier request; nothing ran',
      },
    },
    parameters: { 'Idempotency-Key': { schema: keyParameter, isRequired: required } },
    problems: problemsOf({
      'idempotency-key-invalid': `Idempotency-Key is malformed${required ? ', or missing' : ''}`,
      'idempotency-in-progress': 'The first request with this Idempotency-Key is still running',
      'idempotency-answer-not-kept':
        'The first request with this Idempotency-Key ran, and its response is not kept',
      'idempotency-key-reused': 'An earlier request with this Idempotency-Key was different',
      'idempotency-unavailable': 'Idempotency keys cannot be kept at the moment',
    }),
    headersOf: {
      409: {
        'Retry-After': { type: 'integer', description: 'Seconds until the request can be repeated' },
        Location: { type: 'string', description: 'What the first request created' },
      },
    },
  }
}

const keyParameter = {
  type: 'string',
  minLength: 1,
  maxLength: maxKeyLength + 2,
  description:
    'Names the request, so that it can be repeated: a new unguessable value for each request, such as a UUID in quotes',
}
