/**
 * Seed §4 "Path rules" 1–5, §9 and decisions.md §1: which routes break which rule, and what to write instead. Rows
 * hold a route and, where it breaks a rule, that rule and the path (for an action: method and path) to write.
 */
import fc from 'fast-check'
import t from 'tap'
import {
  knownVerbs,
  type PathBreach,
  type PathRule,
  type PathVocabulary,
  pathBreaches,
  pathRuleNames,
} from '../../src/http/path-rules.js'

type Row = readonly [route: string, rule?: PathRule, instead?: string]

const plain: PathVocabulary = {
  collections: new Set(),
  verbs: new Set(knownVerbs),
  selfAliases: new Set(['me', 'self']),
}

const rightRoutes: Readonly<Record<string, readonly Row[]>> = {
  'the generic endpoints (seed §4)': [
    ['GET /v1/users'],
    ['POST /v1/users'],
    ['GET /v1/users/:id'],
    ['PUT /v1/users/:id'],
    ['PATCH /v1/users/:id'],
    ['DELETE /v1/users/:id'],
    ['GET /v1/friends/:friendId'],
    ['GET /v1/orders'],
    ['GET /v1/subscriptions/:id'],
    ['POST /v1/payments'],
    ['GET,HEAD,OPTIONS /v1/users'],
  ],
  'the alias for the caller’s own record (seed §4, decisions §0)': [
    ['GET /v1/users/me'],
    ['GET /v1/users/self'],
    ['PATCH /v1/users/me'],
    ['GET /v1/users/me/orders'],
    ['GET /v1/users/me/orders/:id'],
    ['GET /v1/me'],
    ['GET /v1/me/orders'],
    ['POST /v1/users/me/follow'],
  ],
  'actions (seed §4)': [
    ['POST /v1/users/:id/follow'],
    ['POST /v1/users/:userId/follow'],
    ['POST /v1/users/:id/verify-email'],
    ['POST /v1/orders/:id/retry'],
    ['POST /v1/orders/:id/cancel'],
    ['POST /v1/subscriptions/:id/suspend'],
    ['POST /v1/subscriptions/:id/cancel'],
    ['POST /v1/payments/:id/retry'],
    ['POST /v1/users/:id/resend-verification-email'],
    ['POST,OPTIONS /v1/orders/:id/cancel'],
    ['POST /v1/messages/send'],
    ['POST /v1/orders/cancel-all'],
    ['POST /v1/login'],
    ['OPTIONS /v1/orders/:id/cancel'],
  ],
  'operations (decisions §5)': [
    ['GET /v1/operations/:id'],
    ['GET /v1/operations/:id/status'],
    ['DELETE /v1/operations/:id'],
  ],
  'sub-collections and singleton sub-resources': [
    ['GET /v1/users/:id/orders'],
    ['GET /v1/users/:userId/friends/:friendId'],
    ['GET /v1/orders/:id/items/:itemId/reviews/:reviewId/comments'],
    ['GET /v1/organizations/:orgId/members/:memberId/roles'],
    ['GET /v1/orders/:id/invoice'],
    ['GET /v1/orders/:id/invoice/lines'],
    ['GET /v1/orders/:id/invoices/:invoiceId'],
    ['GET /v1/orders/:id/approval'],
    ['GET /v1/users/:id/profile'],
    ['GET /v1/users/:id/email'],
    ['PUT /v1/users/:id/avatar'],
    ['GET /v1/users/:id/settings'],
    ['GET /v1/users/:id/followers'],
    ['GET /v1/payments/:id/retries'],
    ['POST /v1/orders/:id/refunds'],
  ],
  'namespaces before a collection': [
    ['GET /v1/billing/invoices'],
    ['GET /v1/billing/invoices/:id'],
    ['GET /v1/admin/users/:id'],
    ['GET /v1/catalog/products/:id'],
    ['GET /v1/oauth2/tokens'],
  ],
  'plurals that do not look it, and words without one': [
    ['GET /v1/people/:id'],
    ['GET /v1/children/:id'],
    ['GET /v1/analyses/:id'],
    ['GET /v1/criteria/:id'],
    ['GET /v1/indices/:id'],
    ['GET /v1/indexes/:id'],
    ['GET /v1/schemas/:id'],
    ['GET /v1/media/:id'],
    ['GET /v1/data/:id'],
    ['GET /v1/news/:id'],
    ['GET /v1/series/:id'],
    ['GET /v1/equipment/:id'],
    ['GET /v1/staff/:id'],
    ['GET /v1/information'],
    ['GET /v1/metadata'],
    ['GET /v1/statuses/:id'],
    ['GET /v1/addresses/:id'],
    ['GET /v1/purchase-orders/:id'],
    ['GET /v1/api-keys/:id'],
  ],
  'nouns that only sound like verbs or like CRUD': [
    ['GET /v1/lists/:id'],
    ['GET /v1/mailing-lists'],
    ['GET /v1/wish-lists/:id'],
    ['GET /v1/shows/:id'],
    ['GET /v1/updates'],
    ['GET /v1/refunds/:id'],
    ['GET /v1/invites'],
    ['GET /v1/archives/:id'],
    ['GET /v1/access-tokens'],
    ['GET /v1/users/count'],
    ['GET /v1/orders/export'],
    ['POST /v1/submissions'],
  ],
  'parameters in every notation of the router': [
    ['GET /v1/users/:ID'],
    ['GET /v1/users/:user_id'],
    ['GET /v1/users/:id?'],
    ['GET /v1/users/:id(^\\d+$)'],
    ['GET /v1/users/:id(^[A-Z]+/x$)'],
    ['GET /v1/users/:id.json'],
    ['GET /v1/files/:name.:ext'],
    ['GET /v1/places/:lat-:lng'],
    ['GET /v1/times/:hour(^\\d{2}$)h:minute(^\\d{2}$)m'],
    ['POST /v1/orders/:id/:action'],
    ['GET /v1/files/*'],
  ],
  'every major version (seed §9)': [
    ['GET /v1'],
    ['GET /v0/users'],
    ['GET /v2/users'],
    ['GET /v10/users'],
    ['GET /v123/users/:id'],
  ],
  'characters that need no encoding (RFC 3986 §3.3)': [
    ['GET /v1/users/a+b'],
    ['GET /v1/users/~root'],
    ['GET /v1/users/a.b-c'],
    ["GET /v1/users/it's"],
    ['GET /v1/users/(x)'],
    ['GET /v1/users/a@b'],
  ],
}

const wrongRoutes: Readonly<Record<string, readonly Row[]>> = {
  'uppercase: paths are lowercase (seed §4 rule 1)': [
    ['GET /v1/Users', 'uppercase', '/v1/users'],
    ['GET /V1/users', 'uppercase', '/v1/users'],
    ['GET /v1/USERS/:id', 'uppercase', '/v1/users/:id'],
    ['GET /v1/PurchaseOrders', 'uppercase', '/v1/purchase-orders'],
    ['GET /v1/purchaseOrders/:id', 'uppercase', '/v1/purchase-orders/:id'],
    ['GET /v1/APIKeys/:keyId', 'uppercase', '/v1/api-keys/:keyId'],
    ['GET /v1/oauth2Tokens', 'uppercase', '/v1/oauth2-tokens'],
    ['GET /v1/users/ME', 'uppercase', '/v1/users/me'],
    ['POST /v1/users/:id/verifyEmail', 'uppercase', '/v1/users/:id/verify-email'],
    ['GET /v1/users/:userId/orderItems/:itemId', 'uppercase', '/v1/users/:userId/order-items/:itemId'],
  ],
  'underscore: words are joined by hyphens (seed §4 rule 2)': [
    ['POST /v1/users/:id/verify_email', 'underscore', '/v1/users/:id/verify-email'],
    ['GET /v1/purchase_orders', 'underscore', '/v1/purchase-orders'],
    ['GET /v1/users/:user_id/order_items/:item_id', 'underscore', '/v1/users/:user_id/order-items/:item_id'],
    ['GET /v1/users/:id/two_factor_settings', 'underscore', '/v1/users/:id/two-factor-settings'],
  ],
  'encoding: no characters that need encoding (seed §4 rule 4)': [
    ['GET /v1/purchase orders', 'encoding', '/v1/purchase-orders'],
    ['GET /v1/purchase%20orders/:id', 'encoding', '/v1/purchase-orders/:id'],
    ['GET /v1/orders|returns', 'encoding', '/v1/orders-returns'],
    ['GET /v1/users/"x"', 'encoding', '/v1/users/x'],
  ],
  'plural: nouns are plural (seed §4 rule 3)': [
    ['POST /v1/user/:id/follow', 'plural', '/v1/users/:id/follow'],
    ['GET /v1/user', 'plural', '/v1/users'],
    ['GET /v1/user/:id', 'plural', '/v1/users/:id'],
    ['GET /v1/user/me', 'plural', '/v1/users/me'],
    ['GET /v1/order/self', 'plural', '/v1/orders/self'],
    ['GET /v1/friend/:id', 'plural', '/v1/friends/:id'],
    ['POST /v1/payment', 'plural', '/v1/payments'],
    ['GET /v1/subscription/:id', 'plural', '/v1/subscriptions/:id'],
    ['GET /v1/user/:id/order/:orderId', 'plural', '/v1/users/:id/orders/:orderId'],
    ['GET /v1/users/:id/address/:addressId', 'plural', '/v1/users/:id/addresses/:addressId'],
    ['GET /v1/orders/:id/invoice/:line', 'plural', '/v1/orders/:id/invoices/:line'],
    ['GET /v1/billing/invoice/:id', 'plural', '/v1/billing/invoices/:id'],
    ['GET /v1/purchase-order/:id', 'plural', '/v1/purchase-orders/:id'],
    ['GET /v1/person/:id', 'plural', '/v1/people/:id'],
    ['GET /v1/child/:id', 'plural', '/v1/children/:id'],
    ['GET /v1/category/:id', 'plural', '/v1/categories/:id'],
    ['GET /v1/analysis/:id', 'plural', '/v1/analyses/:id'],
    ['GET /v1/status/:id', 'plural', '/v1/statuses/:id'],
    ['GET /v1/business/:id', 'plural', '/v1/businesses/:id'],
    ['GET /v1/quiz/:id', 'plural', '/v1/quizzes/:id'],
    ['GET /v1/user/:id?', 'plural', '/v1/users/:id?'],
    ['GET /v1/user/:id(^\\d+$)', 'plural', '/v1/users/:id(^\\d+$)'],
    ['GET /v1/user/:id.json', 'plural', '/v1/users/:id.json'],
    ['GET /v1/place/:lat-:lng', 'plural', '/v1/places/:lat-:lng'],
  ],
  'words: no list, get, create and their like (seed §4 rule 5, decisions §1)': [
    ['GET /v1/users/list', 'words', '/v1/users'],
    ['GET /v1/users/all', 'words', '/v1/users'],
    ['POST /v1/users/create', 'words', '/v1/users'],
    ['GET /v1/users/new', 'words', '/v1/users'],
    ['GET /v1/users/:id/get', 'words', '/v1/users/:id'],
    ['GET /v1/users/:id/show', 'words', '/v1/users/:id'],
    ['GET /v1/users/:id/edit', 'words', '/v1/users/:id'],
    ['GET /v1/users/:id/read', 'words', '/v1/users/:id'],
    ['GET /v1/users/:id/fetch', 'words', '/v1/users/:id'],
    ['GET /v1/users/:id/retrieve', 'words', '/v1/users/:id'],
    ['PUT /v1/users/:id/update', 'words', '/v1/users/:id'],
    ['DELETE /v1/users/:id/delete', 'words', '/v1/users/:id'],
    ['GET /v1/users/:id/orders/list', 'words', '/v1/users/:id/orders'],
    ['GET /v1/list/users', 'words', '/v1/users'],
    ['GET /v1/list-users', 'words', '/v1/users'],
    ['GET /v1/get-users', 'words', '/v1/users'],
    ['GET /v1/users/:id/order-list', 'words', '/v1/users/:id/orders'],
    ['GET /v1/users/:id/get-orders', 'words', '/v1/users/:id/orders'],
    ['POST /v1/users/:id/create-order', 'words', '/v1/users/:id/orders'],
  ],
  'version: the major version is in front (seed §9)': [
    ['GET /users', 'version', '/v1/users'],
    ['GET /users/:id', 'version', '/v1/users/:id'],
    ['POST /orders/:id/cancel', 'version', '/v1/orders/:id/cancel'],
    ['GET /', 'version', '/v1'],
    ['GET /api/users', 'version', '/v1/api/users'],
    ['GET /docs', 'version', '/v1/docs'],
  ],
  'action: a verb is the end of a POST (seed §4 "Action endpoints")': [
    ['GET /v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
    ['HEAD /v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
    ['PUT /v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
    ['PATCH /v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
    ['DELETE /v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
    ['GET,POST /v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
    ['GET /v1/payments/:id/retry', 'action', 'POST /v1/payments/:id/retry'],
    ['PUT /v1/subscriptions/:id/suspend', 'action', 'POST /v1/subscriptions/:id/suspend'],
    ['GET /v1/users/:id/verify-email', 'action', 'POST /v1/users/:id/verify-email'],
    ['PUT /v1/users/me/follow', 'action', 'POST /v1/users/me/follow'],
    ['GET /v1/login', 'action', 'POST /v1/login'],
    ['POST /v1/cancel/orders/:id', 'action', 'POST /v1/orders/:id/cancel'],
    ['GET /v1/retry/payments/:id', 'action', 'POST /v1/payments/:id/retry'],
    ['POST /v1/users/:id/verify/email', 'action', 'POST /v1/users/:id/email/verify'],
  ],
  'slash: no doubled and no trailing slash (decisions §1)': [
    ['GET /v1/', 'slash', '/v1'],
    ['GET /v1/users/', 'slash', '/v1/users'],
    ['GET /v1/users/:id/', 'slash', '/v1/users/:id'],
    ['GET /v1//users', 'slash', '/v1/users'],
    ['GET /v1/users//:id', 'slash', '/v1/users/:id'],
    ['GET /v1/users///:id', 'slash', '/v1/users/:id'],
    ['GET /v1//users/', 'slash', '/v1/users'],
  ],
}

/** Routes that break several rules; every one of them is told at once, in the order of the rules. */
const manyTimesWrong: readonly (readonly [route: string, ...rules: PathRule[]])[] = [
  ['GET /v1/purchaseOrder/:id', 'uppercase', 'plural'],
  ['GET /v1/getUsers', 'uppercase', 'words'],
  ['GET /v1/list_users', 'underscore', 'words'],
  ['GET /v1/users/:id/verify_email', 'underscore', 'action'],
  ['GET /Users', 'uppercase', 'version'],
  ['GET /user/:id', 'plural', 'version'],
  ['GET /users/list', 'words', 'version'],
  ['GET /v1/user/:id/', 'plural', 'slash'],
  ['GET /Purchase_Order/:id/', 'uppercase', 'underscore', 'plural', 'version', 'slash'],
]

const belowApi: readonly Row[] = [
  ['GET /api/v1/users'],
  ['GET /api/v1'],
  ['GET /api/users', 'version', '/api/v1/users'],
  ['GET /api/v1/user/:id', 'plural', '/api/v1/users/:id'],
  ['GET /api/v1/Users', 'uppercase', '/api/v1/users'],
  ['GET /api/v1/users/list', 'words', '/api/v1/users'],
  ['GET /api/v1/users/', 'slash', '/api/v1/users'],
  ['GET /api/v1/purchase_orders', 'underscore', '/api/v1/purchase-orders'],
  ['POST /api/v1/cancel/orders/:id', 'action', 'POST /api/v1/orders/:id/cancel'],
  ['GET /metrics', 'version', '/api/v1/metrics'],
]

const domain: PathVocabulary = {
  collections: new Set(['health', 'feedback', 'wish-list', 'merge-requests', 'openapi.json']),
  verbs: new Set([...knownVerbs, 'ship', 'export']),
  selfAliases: new Set(['mine']),
}

const domainRoutes: readonly Row[] = [
  ['GET /v1/health'],
  ['GET /v1/feedback/:id'],
  ['GET /v1/wish-list/:id'],
  ['GET /v1/merge-requests/:id'],
  ['POST /v1/merge-requests/:id/merge'],
  ['GET /v1/openapi.json'],
  ['GET /v1/users/mine'],
  ['GET /v1/mine/orders'],
  ['POST /v1/orders/:id/ship'],
  ['GET /v1/orders/:id/ship', 'action', 'POST /v1/orders/:id/ship'],
  ['GET /v1/orders/:id/ship-parcel', 'action', 'POST /v1/orders/:id/ship-parcel'],
  ['GET /v1/orders/export', 'action', 'POST /v1/orders/export'],
  ['GET /v1/user/mine', 'plural', '/v1/users/mine'],
]

for (const [title, rows] of Object.entries({ ...rightRoutes, ...wrongRoutes })) {
  t.test(title, async (t) => {
    for (const row of rows) t.same(verdicts(row[0]), expected(row), row[0])
  })
}

t.test('all rules that a route breaks are told at once (decisions §1)', async (t) => {
  for (const [route, ...rules] of manyTimesWrong) {
    t.same(
      breachesOf(route).map(({ rule }) => rule),
      rules,
      route,
    )
  }
})

t.test('basePath stands in front of the version, and in what to write instead', async (t) => {
  for (const row of belowApi) t.same(verdicts(row[0], plain, '/api'), expected(row), row[0])
})

t.test('words of the domain: collections, verbs, self aliases', async (t) => {
  for (const row of domainRoutes) t.same(verdicts(row[0], domain), expected(row), row[0])
})

t.test('a breach says what is wrong, in the words of the route', async (t) => {
  const problems: readonly (readonly [route: string, problem: string])[] = [
    ['GET /v1/userProfiles', "'userProfiles' has uppercase letters"],
    ['GET /v1/user_profiles', "'user_profiles' joins words by an underscore"],
    ['GET /v1/user profiles', "'user profiles' has characters that need encoding"],
    ['GET /v1/user/:id', "'user' names a collection in the singular"],
    ['GET /v1/users/list', "'list' says what the method says"],
    ['GET /users', 'has no major version in front'],
    ['GET,PUT,POST /v1/orders/:id/cancel', "the verb 'cancel' is reached by GET, PUT; an action is a POST"],
    ['POST /v1/cancel/orders/:id', "the verb 'cancel' is not the last segment"],
    ['GET /v1/users/', 'ends in a slash'],
    ['GET /v1//users', 'has a doubled slash'],
  ]
  for (const [route, problem] of problems) {
    t.same(
      breachesOf(route).map((breach) => breach.problem),
      [problem],
      route,
    )
  }
})

t.test('every known verb is an action: fine as the end of a POST, told on any other method', async (t) => {
  for (const verb of knownVerbs) {
    const path = `/v1/orders/:id/${verb}`
    t.same(verdicts(`POST ${path}`), [], `POST ${path}`)
    t.same(verdicts(`GET ${path}`), [`action: POST ${path}`], `GET ${path}`)
  }
  t.same(knownVerbs, [...new Set(knownVerbs)].sort(), 'sorted, and none twice')
})

const collection = fc.constantFrom('users', 'orders', 'purchase-orders', 'people', 'addresses', 'order-items')
const resource = fc
  .tuple(collection, fc.option(fc.constantFrom(':id', ':userId', ':id(^\\d+$)'), { nil: null }))
  .map(([name, parameter]) => (parameter === null ? `/${name}` : `/${name}/${parameter}`))
const rightPath = fc
  .tuple(fc.nat(20), fc.array(resource, { minLength: 1, maxLength: 4 }))
  .map(([major, resources]) => `/v${major}${resources.join('')}`)

t.test('a path in the grammar of the conventions breaks no rule, whatever the method', async () => {
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE')
  fc.assert(
    fc.property(rightPath, method, (path, method) => pathBreaches([method], path, plain).length === 0),
  )
})

t.test('one fault put into a right path is told as that, and what to write is the path before', async () => {
  const faults: readonly (readonly [rule: PathRule, method: string, spoil: (path: string) => string])[] = [
    ['uppercase', 'GET', (path) => path.replace(/\/([a-z])(?=[a-z-]+(\/|$))/, (text) => text.toUpperCase())],
    ['underscore', 'GET', (path) => path.replace('-', '_')],
    ['encoding', 'GET', (path) => path.replace('-', ' ')],
    ['plural', 'GET', (path) => path.replace(/(order|user|item)s(?=\/:)/, '$1')],
    ['words', 'GET', (path) => `${path}/list`],
    ['version', 'GET', (path) => path.replace(/^\/v1(?=\/)/, '')],
    ['slash', 'GET', (path) => path.replace(/\/(?=[a-z]+$)|$/, '//')],
    ['slash', 'GET', (path) => `${path}/`],
  ]
  for (const [rule, method, spoil] of faults) {
    fc.assert(
      fc.property(rightPath, (path) => {
        const broken = spoil(path)
        fc.pre(broken !== path)
        return verdicts(`${method} ${broken}`).join() === `${rule}: ${path}`
      }),
    )
  }
})

t.test('writing what a rule says instead keeps that rule', async () => {
  const words =
    'users user orders Orders user-list getUsers user_email me self :id * invoice v1 update  a,b %20'
  const pattern = fc
    .array(fc.constantFrom(...words.split(' ')), { maxLength: 6 })
    .map((segments) => `/${segments.join('/')}`)
  fc.assert(
    fc.property(pattern, (path) =>
      breachesOf(`GET ${path}`).every(
        ({ rule, instead }) => !breachesOf(`GET ${instead}`).some((again) => again.rule === rule),
      ),
    ),
    { numRuns: 500 },
  )
})

t.test('any pattern and any methods: no throw, each rule once at most, in order', async () => {
  const utf16 = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'/:aZ-_%*().?') }), utf16)
  fc.assert(
    fc.property(text, fc.array(fc.string()), (pattern, methods) => {
      const rules = pathBreaches(methods, pattern, plain, '/api').map(({ rule }) => rule)
      return rules.join() === pathRuleNames.filter((rule) => rules.includes(rule)).join()
    }),
  )
})

t.test('a hostile length is no matter', async (t) => {
  for (const unit of ['a', 'A', '/', '(', ':', '-', 'list-', '%', 's_']) {
    t.ok(breachesOf(`GET /v1/${unit.repeat(20_000 / unit.length)}`), unit)
  }
})

function verdicts(route: string, vocabulary = plain, basePath = ''): string[] {
  return breachesOf(route, vocabulary, basePath).map(({ rule, instead }) => `${rule}: ${instead}`)
}

function breachesOf(route: string, vocabulary = plain, basePath = ''): PathBreach[] {
  const space = route.indexOf(' ')
  return pathBreaches(route.slice(0, space).split(','), route.slice(space + 1), vocabulary, basePath)
}

function expected([, rule, instead]: Row): string[] {
  return rule === undefined ? [] : [`${rule}: ${instead}`]
}
