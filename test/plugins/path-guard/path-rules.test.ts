/** Which routes break which rule, and what to write instead: a path, with the method where that changes. */
import fc from 'fast-check'
import t from 'tap'
import { type PathRule, pathBreaches, pathRuleNames } from '../../../src/plugins/path-guard/path-rules.js'
import { knownVerbs, type PathVocabulary } from '../../../src/plugins/path-guard/path-words.js'
import { superlinearSeeds } from '../../support/growth.js'
import { forAll } from '../../support/property.js'

type Row = readonly [route: string, rule?: PathRule, instead?: string]

const plain: PathVocabulary = {
  collections: new Set(),
  verbs: new Set(knownVerbs),
  selfAliases: new Set(['me', 'self']),
}

/** Routes that keep the rules: on each line, methods and paths. */
const rightRoutes: Readonly<Record<string, string>> = {
  'the alias for the caller’s own record': `
    GET /v1/users/me /v1/users/self /v1/users/me/orders /v1/users/me/orders/:id /v1/me /v1/me/orders
    POST /v1/users/me/follow`,
  actions: `
    POST /v1/users/:id/resend-verification-email /v1/messages/send
    POST /v1/orders/cancel-all /v1/login /v1/refund /v1/resend-verification /v1/refresh-token
    POST,OPTIONS /v1/orders/:id/cancel
    OPTIONS /v1/orders/:id/cancel`,
  'operations, sub-collections and singleton sub-resources': `
    GET /v1/operations/:id/status
    GET /v1/organizations/:orgId/members/:memberId/roles /v1/orders/:id/invoice /v1/orders/:id/invoice/lines
    GET /v1/orders/:id/invoices/:invoiceId /v1/orders/:id/approval /v1/users/:id/profile /v1/users/:id/email
    GET /v1/users/:id/settings /v1/users/:id/followers /v1/payments/:id/retries
    PUT /v1/users/:id/avatar
    POST /v1/orders/:id/refunds`,
  'namespaces before a collection': `
    GET /v1/billing/invoices /v1/billing/invoices/:id /v1/admin/users/:id /v1/catalog/products/:id
    GET /v1/oauth2/tokens`,
  'plurals that do not look it, and words without one': `
    GET /v1/people/:id /v1/children/:id /v1/analyses/:id /v1/criteria/:id /v1/indices/:id /v1/indexes/:id
    GET /v1/schemas/:id /v1/media/:id /v1/data/:id /v1/news/:id /v1/series/:id /v1/equipment/:id
    GET /v1/staff/:id /v1/information /v1/metadata /v1/statuses/:id /v1/addresses/:id
    GET /v1/purchase-orders/:id /v1/api-keys/:id /v1/feedback/:id /v1/money/:id /v1/inventory/:id
    GET /v1/history/:id /v1/content/:id /v1/storage/:id /v1/knowledge/:id /v1/access/:id /v1/cpus/:id
    GET /v1/redirect-uris/:id /v1/taxis/:id /v1/oauth2/:id`,
  'nouns made of a verb, and what an action leaves behind': `
    GET /v1/merge-requests /v1/merge-requests/:id /v1/invite-codes/:id /v1/refresh-tokens/:id
    GET /v1/reset-tokens/:id /v1/login-attempts/:id /v1/cancel-reasons /v1/sync-jobs/:id
    GET /v1/follow-requests/:id /v1/orders/:id/refund /v1/orders/:id/archive /v1/teams/:id/invite
    GET /v1/orders/:id/refund-policy /v1/orders/:id/cancel-reason /v1/users/:id/login-history
    GET /v1/accounts/:id/sync-status /v1/tickets/:id/follow-up
    POST /v1/merge-requests /v1/merge-requests/:id/merge /v1/follow-requests/:id/accept
    POST /v1/orders/:id/refund/cancel`,
  'nouns made of a CRUD word, and lists that are things of their own': `
    GET /v1/update-channels /v1/update-channels/:id /v1/delete-requests/:id /v1/get-togethers
    GET /v1/get-togethers/:id /v1/add-ons/:id /v1/read-receipts /v1/list-items/:id /v1/new-users
    GET /v1/users/:id/wish-list /v1/users/:id/to-do-list /v1/price-lists/:id
    POST /v1/delete-requests`,
  'what exists once is not plural': `
    GET /v1/me /v1/settings /v1/config /v1/config/:key /v1/cart /v1/dashboard /v1/search /v1/search/:query
    GET /v1/i18n/:language /v1/tv/:id
    PATCH /v1/profile
    DELETE /v1/cart/items/:id
    POST /v1/checkout /v1/login /v1/logout /v1/register`,
  'endpoints for operators, browsers and tools have no version': `
    GET / /api /health /healthz /health/:check /api/health /internal/health /sitemap.xml /ready /live /ping
    GET /status /metrics /version /robots.txt /favicon.ico /i18n/:language /graphiql /docs /docs/json
    GET /documentation/static/index.html
    GET,POST /graphql`,
  'reading is an action where something is marked as read': `
    POST /v1/notifications/read /v1/notifications/read-all /v1/messages/:id/read
    POST,OPTIONS /v1/messages/:id/read`,
  'names that are not chosen, and files (RFC 8615)': `
    GET /.well-known/openid-configuration /.well-known/acme-challenge/:token /v1/openapi.json /v1/robots.txt`,
  'look-up by another key of the collection': `
    GET /v1/users/by-email/:email /v1/users/by/email/:email /v1/users/by/:key
    GET /v1/users/:id/orders/by-number/:number`,
  'nouns that only sound like verbs or like CRUD': `
    GET /v1/lists/:id /v1/mailing-lists /v1/wish-lists/:id /v1/shows/:id /v1/updates /v1/refunds/:id
    GET /v1/invites /v1/archives/:id /v1/access-tokens /v1/users/count /v1/orders/export
    GET /v1/users/:id/edit-history /v1/list-items /v1/list-users/:id /v1/users/:id/sync-status
    GET /v1/users/:id/order-cancel /v1/users/:id/login-page /v1/~/users
    POST /v1/submissions /v1/users/:id/follow-ups /v1/users/:id/cancel-order /v1/users/:id/login-page
    POST /v1/orders/cancel-pages/:id
    PUT /v1/update-channels/:id /v1/cancel-orders/:id
    GET,HEAD,OPTIONS /v1/update-channels`,
  'parameters in every notation of the router': `
    GET /v1/users/:ID /v1/users/:user_id /v1/users/:id? /v1/users/:id(^\\d+$) /v1/users/:id(^[A-Z]+/x$)
    GET /v1/users/:id.json /v1/files/:name.:ext /v1/places/:lat-:lng
    GET /v1/times/:hour(^\\d{2}$)h:minute(^\\d{2}$)m /v1/files/* /v1/files/backup-*
    POST /v1/orders/:id/:action`,
  'every major version': `
    GET /v1 /v0/users /v2/users /v10/users /v123/users/:id`,
  'characters that need no encoding (RFC 3986 §3.3)': `
    GET /v1/users/a+b /v1/users/~root /v1/users/a.b-c /v1/users/it's /v1/users/(x) /v1/users/a@b`,
}

const wrongRoutes: Readonly<Record<string, string>> = {
  'uppercase: paths are lowercase': `
    GET /V1/users => /v1/users | GET /v1/PurchaseOrders/:id? => /v1/purchase-orders/:id?
    GET /v1/APIKeys/:keyId => /v1/api-keys/:keyId | GET /v1/users/:id.PDF => /v1/users/:id.pdf
    GET /v1/orders::Batch/:id => /v1/orders::batch/:id`,
  'underscore: words are joined by hyphens': `
    GET /v1/users/:user_id/order_items/:item_id => /v1/users/:user_id/order-items/:item_id
    GET /v1/_users_ => /v1/users | GET /v1/users/user_:id => /v1/users/user-:id
    GET /v1/user_-_profiles => /v1/user-profiles`,
  'encoding: no characters that need encoding': `
    GET /v1/purchase orders => /v1/purchase-orders | GET /v1/orders|returns => /v1/orders-returns
    GET /v1/cafés/:id => /v1/cafes/:id | GET /v1/日本/:id => /v1/items/:id | GET /v1/users/%zz => /v1/users/zz
    GET /v1/users/{id} => /v1/users/:id | GET /v1/users/:id.{x y} => /v1/users/:id.-x-y-
    GET /v1/users/{userId}/orders/<id>.pdf => /v1/users/:userId/orders/:id.pdf | GET /v1/user’s => /v1/users
    GET /v1/caf%E9s => /v1/caf-s | GET /v1/places/{lat}-{lng} => /v1/places/:lat-:lng
    GET /v1/orders/{id}x => /v1/orders/id-x | GET /v1/order%73/:id => /v1/orders/:id`,
  'plural: nouns are plural': `
    GET /v1/user => /v1/users | GET /v1/order/self => /v1/orders/self | GET /v1/person/:id => /v1/people/:id
    GET /v1/user/:id/order/:orderId => /v1/users/:id/orders/:orderId | GET /v1/status/:id => /v1/statuses/:id
    GET /v1/orders/:id/invoice/:line => /v1/orders/:id/invoices/:line
    GET /v1/place/:lat-:lng => /v1/places/:lat-:lng | GET /v1/merge-request/:id => /v1/merge-requests/:id
    POST /v1/cancel-request/:id/approve => /v1/cancel-requests/:id/approve
    GET /v1/cart/:id/items => /v1/carts/:id/items`,
  'words: no list, get, create and their like': `
    GET /v1/users/:id/read => /v1/users/:id | GET,POST /v1/users/:id/read => GET /v1/users/:id
    GET /v1/list/users => /v1/users | GET /v1/users/:id/purchase-order-list => /v1/users/:id/purchase-orders
    GET /v1/get-orders::batch => /v1/orders::batch | GET /v1/list-people => /v1/people
    PUT /v1/users/:id/update-user => /v1/users/:id | PUT /v1/update-all-users/:id => /v1/users/:id
    POST /v1/messages/read/:id => GET /v1/messages/:id | GET /v1/users/:id/get-orders => /v1/users/:id/orders
    POST /v1/users/:id/create-order => /v1/users/:id/orders | GET /v1/get-all-users => /v1/users
    GET /v1/users-list/:id => /v1/users/:id | POST /v1/create-new-user => /v1/users
    GET /v1/users/get-user/:id => /v1/users/:id | GET /v1/users/:id/get-profile => /v1/users/:id/profile
    GET /v1/users/:id/get-wish-list => /v1/users/:id/wish-list | GET /v1/create => POST /v1`,
  'words: the method is told where it is another one': `
    POST /v1/delete-user/:id => DELETE /v1/users/:id | GET,POST /v1/users/:id/delete => DELETE /v1/users/:id
    DELETE,OPTIONS /v1/users/:id/delete => /v1/users/:id | POST /v1/update-channels => PATCH /v1/channels
    POST /v1/users/:id/follow/list => /v1/users/:id/follow | PUT /v1/update-channel/:id => /v1/channels/:id
    GET /v1/users/:id/get/delete => DELETE /v1/users/:id | POST /v1/users/:id/list-all => GET /v1/users/:id
    POST /v1/users/:id/delete/cancel => /v1/users/:id/cancel | GET /v1/users/by-name/list => /v1/users/by-name`,
  'words: no parameter loses the collection that it is an item of': `
    GET /v1/list/:id => /v1/items/:id | GET /v1/list/a-:orderId => /v1/items/a-:orderId
    GET /v1/get/:orderId => /v1/orders/:orderId | GET /v1/users/list/:id => /v1/users/:id
    GET /v1/users/:id/get/:order_id => /v1/users/:id/orders/:order_id
    GET /v1/users/me/show/:orderId => /v1/users/me/orders/:orderId`,
  'version: the major version is in front': `
    GET /api/users => /api/v1/users, with basePath: '/api' | GET /404 => /v1/404 | GET /users/v2 => /v2/users
    GET /v1.0/users => /v1/users | GET /v001/users => /v1/users | GET /version-2/users => /v2/users
    GET /v2beta10/users => /v2/users | GET /v2x/users => /v1/v2x/users | GET /3.14/users => /v3/users
    GET /users/:id/v2 => /v2/users/:id | GET /api/v1/users => set basePath: '/api' | GET /:v1 => /v1/:v1
    GET /rest/api/v2/users/:id => set basePath: '/rest/api' | GET /users/v1/:id => /v1/users/:id
    GET /api/v1.0/users => /api/v1/users, with basePath: '/api' | GET /v2-rc.1/users => /v2/users
    GET /:tenant/v1/users => /v1/:tenant/users | GET /2024/reports => /v1/2024/reports
    GET /shop/v1/users => set basePath: '/shop' | GET /rest/users => /rest/v1/users, with basePath: '/rest'
    GET /:tenant/health => /v1/:tenant/health | GET /internal/health/checks => /v1/internal/health/checks`,
  'action: a verb is the end of a POST': `
    GET /v1/orders/:id/cancel => POST /v1/orders/:id/cancel | POST /v1/cancel/:id => POST /v1/items/:id/cancel
    GET,POST /v1/orders/:id/cancel => POST /v1/orders/:id/cancel | GET /v1/cancel/* => POST /v1/cancel/*
    POST /v1/cancel/orders/:id => POST /v1/orders/:id/cancel
    POST /v1/users/:id/verify/email => POST /v1/users/:id/email/verify
    POST /v1/cancel-order/:id => POST /v1/orders/:id/cancel | POST /v1/cancel/verify => POST /v1/verify-cancel
    POST /v1/orders/cancel-order/:id => POST /v1/orders/:id/cancel
    POST /v1/billing/cancel-invoice/:id => POST /v1/billing/invoices/:id/cancel
    POST /v1/cancel/:id/merge => POST /v1/items/:id/merge-cancel
    POST /v1/refund/:orderId? => POST /v1/orders/:orderId/refund
    POST /v1/cancel-all/:id => POST /v1/items/:id/cancel-all
    POST /v1/orders/:id/cancel/confirm => POST /v1/orders/:id/confirm-cancel
    POST /v1/orders/:id/cancel/cancel => POST /v1/orders/:id/cancel
    DELETE /v1/users/:id/follow => POST /v1/users/:id/unfollow
    DELETE,OPTIONS /v1/users/:id/subscribe => POST /v1/users/:id/unsubscribe
    DELETE /v1/users/:id/send => POST /v1/users/:id/send
    GET,DELETE /v1/users/:id/follow => POST /v1/users/:id/follow
    GET /v1/users/:id/cancel-all => POST /v1/users/:id/cancel-all
    POST /v1/orders/:id?/cancel/now => POST /v1/orders/:id/now/cancel`,
  'slash: no doubled and no trailing slash': `
    GET /v1/ => /v1 | GET /v1/users///:id => /v1/users/:id | GET //v1/users => /v1/users`,
}

/** Routes that break several rules: the suggestion corrects all of them. */
const manyTimesWrong: readonly (readonly [route: string, rules: string, instead: string])[] = [
  ['GET /v1/purchaseOrder/:id', 'uppercase plural', '/v1/purchase-orders/:id'],
  ['GET /v1/getUser/:id', 'uppercase words', '/v1/users/:id'],
  ['GET /v1/users/:id/order/list', 'plural words', '/v1/users/:id/orders'],
  ["GET /v1/order's list", 'encoding words', '/v1/orders'],
  ['POST /list/cancel/order', 'words version action', 'POST /v1/order/cancel'],
  ['GET /V1.0/User_List/:Id/', 'uppercase underscore words version slash', '/v1/users/:Id'],
  ['GET /Purchase_Order/:id/', 'uppercase underscore plural version slash', '/v1/purchase-orders/:id'],
  ['GET /v1/user/{id}', 'encoding plural', '/v1/users/:id'],
  ['GET /v1/orders/:id/_cancel', 'underscore action', 'POST /v1/orders/:id/cancel'],
  ['GET /v1/a--b_c', 'underscore plural', '/v1/a--b-cs'],
  ['GET /v1_2/users', 'underscore version', '/v1/users'],
  ['GET /v1/orders/:id/caf%C3%A9Bar', 'uppercase encoding', '/v1/orders/:id/cafe-bar'],
]

const belowApi: readonly Row[] = [
  ...['GET /api/v1/users', 'GET /api/v1', 'GET /metrics', 'GET /api'].map((route): Row => [route]),
  ['GET /api/users', 'version', '/api/v1/users'],
  ['GET /api/v1/user/:id', 'plural', '/api/v1/users/:id'],
  ['POST /api/v1/cancel/orders/:id', 'action', 'POST /api/v1/orders/:id/cancel'],
  ['GET /invoices', 'version', '/api/v1/invoices'],
  ['GET /apis', 'version', '/api/v1/apis'],
]

const domain: PathVocabulary = {
  collections: new Set(['feedback', 'wish-list', 'merge-requests', 'openapi.json', 'get-started', 'moon']),
  verbs: new Set([...knownVerbs, 'ship', 'export', 'check-in']),
  selfAliases: new Set(['mine']),
}

const domainRoutes: readonly Row[] = [
  ...[
    'get-started/:id',
    'feedback/:id',
    'wish-list/:id',
    'merge-requests/:id',
    'openapi.json',
    'mine/orders',
  ].map((path): Row => [`GET /v1/${path}`]),
  ['POST /v1/merge-requests/:id/merge'],
  ['GET /v1/Moon', 'uppercase', '/v1/moon'],
  ['POST /v1/check-in/:id', 'action', 'POST /v1/items/:id/check-in'],
  ['GET /v1/orders/:id/ship', 'action', 'POST /v1/orders/:id/ship'],
  ['GET /v1/orders/:id/ship-parcel', 'action', 'POST /v1/orders/:id/ship-parcel'],
  ['GET /v1/user/mine', 'plural', '/v1/users/mine'],
]

for (const [title, text] of Object.entries(rightRoutes)) {
  t.test(title, async (t) => {
    for (const line of text.trim().split('\n')) {
      const [methods, ...paths] = line.trim().split(' ')
      for (const path of paths) t.same(verdicts(`${methods} ${path}`), [], `${methods} ${path}`)
    }
  })
}

for (const [title, rows] of Object.entries(wrongRoutes))
  t.test(title, async (t) => {
    const [rule] = title.split(':')
    for (const row of rows.trim().split(/\n *| \| /)) {
      const [route = '', instead] = row.split(' => ')
      t.same(verdicts(route), [`${rule}: ${instead}`], route)
    }
  })

t.test('a route has one breach for each broken rule, and one suggestion without all of them', async (t) => {
  for (const [route, rules, instead] of manyTimesWrong) {
    const all = rules.split(' ').map((rule) => `${rule}: ${instead}`)
    t.same(verdicts(route), all, route)
  }
  const below = ['uppercase: /api/v1/users/:id', 'words: /api/v1/users/:id', "version: set basePath: '/api'"]
  t.same(verdicts('GET /api/v1/getUser/:id'), below)
  t.same(verdicts('GET /api/', plain, '/api'), ['slash: /api'])
})

t.test('what a rule that is off would correct stays as it is', async (t) => {
  for (const [path, off, instead] of [
    ['/v1/Order_Item/:id', 'uppercase', '/v1/Order-Items/:id'],
    ['/v1/Order_Item/:id', 'underscore', '/v1/order_items/:id'],
    ['/v1/Order_Item/:id', 'plural', '/v1/order-item/:id'],
    ['/v1/caf%C3%A9/:id/Menu', 'encoding', '/v1/caf%C3%A9s/:id/menu'],
    ['/v1/User/list', 'words', '/v1/users/list'],
    ['/User/:id', 'version', '/users/:id'],
    ['/v1/User/:id/', 'slash', '/v1/users/:id/'],
    ['/v1/users/%20', 'slash', '/v1/users'],
    ['/v1/cancel/list/:id', 'action', '/v1/cancel/items/:id'],
  ] as const) {
    const breaches = pathBreaches(['GET'], path, plain, '', (rule) => rule !== off)
    t.same(new Set(breaches.map((breach) => breach.instead)), new Set([instead]), `${path} without ${off}`)
  }
})

t.test('basePath precedes the version, words of the domain the built-in ones', async (t) => {
  for (const row of belowApi) t.same(verdicts(row[0], plain, '/api'), expected(row), row[0])
  for (const row of domainRoutes) t.same(verdicts(row[0], domain), expected(row), row[0])
})

t.test('a breach describes the fault with the names of the route', async (t) => {
  for (const [route, problem] of [
    ['GET /v1/user_profiles', "'user_profiles' joins words with an underscore"],
    ['GET /v1/user/:id/order/:orderId', "'user', 'order' name collections in the singular"],
    ['GET /v1/us[er]s/{id}', "'us[er]s', '{id}' have characters that need encoding"],
    ['GET /v1/all/users/list', "'all', 'list' stand for a method"],
    ['GET /users', 'has no major version in front'],
    ['GET /api/v1/users', "'/api' is in front of the version"],
    ['GET /api/users', "has no major version behind '/api'"],
    ['GET,PUT,POST /v1/orders/:id/cancel', "the verb 'cancel' is served for GET, PUT; an action is a POST"],
    ['POST /v1/cancel/orders/:id', "the verb 'cancel' is not the last segment"],
    ['GET /v1/users/', 'ends in a slash'],
    ['GET /v1//users', 'has two slashes in a row'],
  ] as const)
    t.match(breachesOf(route), [{ problem }], route)
})

t.test('each CRUD word stands for methods: another one is told to be the first of them', async (t) => {
  const all = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
  for (const [words, first, ...others] of [
    ['add create', 'POST', 'PUT'],
    ['delete destroy remove', 'DELETE'],
    ['edit', 'PATCH', 'PUT', 'GET', 'HEAD'],
    ['fetch find get list retrieve show', 'GET', 'HEAD'],
    ['new', 'POST', 'PUT', 'GET', 'HEAD'],
    ['update', 'PATCH', 'PUT'],
  ] as const) {
    for (const word of words.split(' ')) {
      for (const method of all) {
        const isSame = [first, ...others].some((one) => one === method)
        const instead = isSame ? '/v1/users' : `${first} /v1/users`
        t.same(verdicts(`${method} /v1/users/${word}`), [`words: ${instead}`], `${method} ${word}`)
      }
    }
  }
})

t.test('every known verb is an action: right at the end of a POST, wrong for a GET', async (t) => {
  // What these leave behind has the same name, and can be read.
  const nouns = ['archive', 'capture', 'invite', 'refund']
  for (const verb of knownVerbs) {
    const path = `/v1/orders/:id/${verb}`
    t.same(verdicts(`POST ${path}`), [], `POST ${path}`)
    t.same(verdicts(`GET ${path}`), nouns.includes(verb) ? [] : [`action: POST ${path}`], `GET ${path}`)
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
  forAll(rightPath, method, (path, method) => pathBreaches([method], path, plain).length === 0)
})

t.test('a single fault is found, and the suggestion is the path without it', async () => {
  const faults: readonly (readonly [rule: PathRule, spoil: (path: string) => string])[] = [
    ['uppercase', (path) => path.replace(/\/([a-z])(?=[a-z-]+(\/|$))/, (text) => text.toUpperCase())],
    ['underscore', (path) => path.replace('-', '_')],
    ['encoding', (path) => path.replace('-', ' ')],
    ['plural', (path) => path.replace(/(order|user|item)s(?=\/:)/, '$1')],
    ['words', (path) => `${path}/list`],
    ['version', (path) => path.replace(/^\/v1(?=\/)/, '')],
    ['slash', (path) => path.replace(/\/(?=[a-z]+$)|$/, '//')],
    ['slash', (path) => `${path}/`],
  ]
  for (const [rule, spoil] of faults) {
    forAll(rightPath, (path) => {
      const broken = spoil(path)
      fc.pre(broken !== path)
      return verdicts(`GET ${broken}`).join() === `${rule}: ${path}`
    })
  }
})

t.test('a suggestion breaks no rule, whatever is wrong with the route', async () => {
  const segments = (
    'users user Orders purchase_Order me :id :orderId? user_:id * v1 v1.0 404 list get createUser delete-user getOrder ' +
    'users-list get-all cancel cancel-order verify_email refund merge-request wish-list by-email _ ~ %20 café 日本 {id}'
  ).split(' ')
  const path = fc.array(fc.constantFrom(...segments, ''), { maxLength: 6 }).map((all) => `/${all.join('/')}`)
  const methods = fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'GET,HEAD', 'GET,POST', 'DELETE,OPTIONS')
  fc.assert(
    fc.property(methods, path, fc.constantFrom('', '/api'), (methods, pattern, basePath) =>
      breachesOf(`${methods} ${pattern}`, plain, basePath).every(({ instead }) => {
        if (instead.includes('basePath')) return true
        const route = /^[A-Z]+ /.test(instead) ? instead : `${methods} ${instead}`
        return breachesOf(route, plain, basePath).every(({ instead }) => instead.startsWith('set basePath'))
      }),
    ),
    { numRuns: 2000 },
  )
})

t.test('any pattern and any methods: no throw, each rule at most once, in order', async () => {
  const utf16 = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'/:aZ-_%*().?') }), utf16)
  forAll(text, fc.array(fc.string()), (pattern, methods) => {
    const rules = pathBreaches(methods, pattern, plain, '/api').map(({ rule }) => rule)
    return rules.join() === pathRuleNames.filter((rule) => rules.includes(rule)).join()
  })
})

t.test('the time of the check is linear in the length of the pattern', async (t) => {
  const seeds =
    '/a /A // /* /:a /cancel /cancel-order/:id /create/:id /list /%41 /-- ( list- s_ {a :( é'.split(' ')
  for (const method of ['GET', 'POST']) {
    const work = (text: string): unknown => breachesOf(`${method} /v1${text}/x`)
    t.strictSame(await superlinearSeeds(seeds, work), [], method)
  }
})

function verdicts(route: string, vocabulary = plain, basePath = '') {
  return breachesOf(route, vocabulary, basePath).map(({ rule, instead }) => `${rule}: ${instead}`)
}

function breachesOf(route: string, vocabulary = plain, basePath = '') {
  const space = route.indexOf(' ')
  return pathBreaches(route.slice(0, space).split(','), route.slice(space + 1), vocabulary, basePath)
}

function expected([, rule, instead]: Row): string[] {
  return rule === undefined ? [] : [`${rule}: ${instead}`]
}
