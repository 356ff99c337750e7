/** What to write instead of a path: decisions.md §1. The rows of path-rules.test.ts say which path that is. */
import fc from 'fast-check'
import t from 'tap'
import {
  knownVerbs,
  type PathRule,
  type PathVocabulary,
  pathBreaches,
  pathRuleNames,
} from '../../../src/plugins/path-guard/path-rules.js'

const vocabulary: PathVocabulary = {
  collections: new Set(['health']),
  verbs: new Set(knownVerbs),
  selfAliases: new Set(['me', 'self']),
}

/** Right and wrong by every rule, alone and next to each other. */
const segments = [
  'users user orders Orders purchase_Order health me self :id :orderId? :id.PDF user_:id item-:id * v1 V2 v1.0 1 404',
  'list get create update delete show all new add find user-list users-list getUsers getOrder createUser get-all',
  'cancel cancel-order cancel-all verify_email confirm refund archive merge-request merge-requests refund-policy',
  'update-channels delete-user wish-list price-list status sync-status schema cpu openapi.json by by-email',
  'user_email _ __x user__p - ~ a,b %20 %zz caf%C3%A9 café 日本 orders[] order[] {id} {userId}.PDF orders::Batch',
].flatMap((line) => line.split(' '))

const path = fc
  .array(fc.constantFrom(...segments, ''), { maxLength: 6 })
  .map((parts) => `/${parts.join('/')}`)
const methods = fc.constantFrom(
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'GET,HEAD', 'GET,POST', 'POST,OPTIONS', 'DELETE,OPTIONS'],
)

t.test('a route that is written as it should be breaks no rule', async () => {
  fc.assert(
    fc.property(methods, path, fc.constantFrom('', '/api'), (method, pattern, base) =>
      isMended(method, pattern, base, pathRuleNames),
    ),
    { numRuns: 2000 },
  )
})

t.test('it keeps the rules in force, whichever these are', async () => {
  const rules = fc.subarray([...pathRuleNames])
  fc.assert(
    fc.property(methods, path, rules, fc.boolean(), (method, pattern, inForce, isBelow) =>
      isMended(method, isBelow ? `/api${pattern}` : pattern, '/api', inForce),
    ),
    { numRuns: 2000 },
  )
})

t.test('what is not in force stays as it is written', async (t) => {
  const rows: readonly (readonly [off: PathRule, route: string, instead: string])[] = [
    ['uppercase', 'GET /v1/purchaseOrder/:id/', '/v1/purchaseOrders/:id'],
    ['uppercase', 'GET /v1/ORDER/:id', '/v1/ORDERS/:id'],
    ['underscore', 'GET /v1/Purchase_Order/:id', '/v1/purchase_orders/:id'],
    ['encoding', 'GET /v1/café/:id', '/v1/cafés/:id'],
    ['encoding', 'GET /v1/User/{userId}', '/v1/users/{userId}'],
    ['encoding', 'GET /v1/Caf%C3%A9s', '/v1/caf%C3%A9s'],
    ['plural', 'GET /v1/User/:id', '/v1/user/:id'],
    ['plural', 'POST /v1/cancel-order/:id', 'POST /v1/order/:id/cancel'],
    ['words', 'GET /v1/user/get/:id', '/v1/users/get/:id'],
    ['words', 'GET /v1/Users/createOrder', '/v1/users/create-order'],
    ['version', 'GET /Users', '/users'],
    ['version', 'GET /', '/'],
    ['action', 'GET /v1/Orders/:id/cancel', '/v1/orders/:id/cancel'],
    ['action', 'POST /v1/cancel/order/:id', '/v1/cancel/orders/:id'],
    ['slash', 'GET /v1//user/', '/v1//users/'],
    ['slash', 'POST /v1/cancel/orders/:id/', 'POST /v1/orders/:id/cancel/'],
    ['slash', 'GET /v1/users/list/', '/v1/users/'],
  ]
  for (const [off, route, instead] of rows) {
    const [method = '', pattern = ''] = route.split(' ')
    const inForce = pathRuleNames.filter((rule) => rule !== off)
    const found = pathBreaches([method], pattern, vocabulary, '', inForce)
    t.same(
      [...new Set(found.map((breach) => breach.instead))],
      [instead].slice(0, found.length),
      `${off}: ${route}`,
    )
  }
})

t.test('a base path is put in front with the version only', async (t) => {
  const withoutVersion = pathRuleNames.filter((rule) => rule !== 'version')
  const insteadOf = (pattern: string, inForce: readonly PathRule[]): string | undefined =>
    pathBreaches(['GET'], pattern, vocabulary, '/api', inForce)[0]?.instead
  t.equal(insteadOf('/Metrics', pathRuleNames), '/api/v1/metrics')
  t.equal(insteadOf('/Metrics', withoutVersion), '/metrics')
  t.equal(insteadOf('/api/Metrics', withoutVersion), '/api/metrics')
})

function isMended(method: string, pattern: string, base: string, inForce: readonly PathRule[]): boolean {
  const found = broken(method, pattern, base, inForce)
  const [instead, ...others] = new Set(found)
  if (instead === undefined) return true
  const [, mendedMethod = method, mended = ''] = /^(?:([A-Z]+) )?(\/.*)$/.exec(instead) ?? []
  return others.length === 0 && broken(mendedMethod, mended, base, inForce).length === 0
}

function broken(method: string, pattern: string, base: string, inForce: readonly PathRule[]): string[] {
  return pathBreaches(method.split(','), pattern, vocabulary, base, inForce)
    .filter(({ rule }) => inForce.includes(rule))
    .map(({ instead }) => instead)
}
