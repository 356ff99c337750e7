/** How often the rules are right on routes of public APIs: the share of findings that are right, and of faults found. */
import t from 'tap'
import { pathBreaches } from '../../../src/plugins/path-guard/path-rules.js'
import { knownVerbs, type PathVocabulary } from '../../../src/plugins/path-guard/path-words.js'

/**
 * Routes as public APIs have them, from memory and with other names, labelled by hand: behind `=>` the rules that those of a
 * line break by the conventions of this package. Do not change a label to what the rules say: change it only if it is wrong.
 */
const everydayPaths = read(`
# collections and items
GET /v1/users /v1/users/:id /v2/charges /v2/charges/:chargeId /v1/customers/:customer/payment-methods
GET /v1/customers/:customer/payment-methods/:method /v1/invoices/:id/lines
GET /v1/subscription-items/:item/usage-record-summaries /v3/repos/:owner/:repo /v3/repos/:owner/:repo/issues
GET /v3/repos/:owner/:repo/issues/:number/comments /v3/repos/:owner/:repo/branches/:branch/protection
GET /v3/orgs/:org/members /v1/playlists/:id/tracks /v1/albums /v1/artists/:id/top-tracks
GET /v1/artists/:id/related-artists /v1/movies/:id/credits /v1/people/:id/movie-credits
GET /v1/tv/:id/seasons/:number /v1/news /v1/media/:id /v1/series/:id/episodes /v1/products/:id/inventory
GET /v1/warehouses/:id/stock /v1/categories/:slug/products /v1/conversations/:id/messages
GET /v1/channels/:id/pins /v1/tickets/:id/attachments /v1/boards/:id/lists /v1/cards/:id/checklists
GET /v1/projects/:id/environments/:env/variables /v1/functions/:name/logs /v1/zones/:zone/dns-records
GET /v1/droplets/:id/snapshots /v1/flights/:id/seats /v1/hotels/:id/availability /v1/stations/:id/departures
GET /v1/devices/:id/telemetry /v1/sensors/:id/readings /v1/patients/:id/appointments /v1/models
GET /v1/fine-tuning/jobs/:id/events /v1/files/:id/content /v1/audit-logs /v1/currencies/:code
GET /v1/exchange-rates /v1/exchange-rates/latest /v1/countries/:iso/regions /v1/users/:id/followers
GET /v1/users/by-email/:email /v1/employees/:id/time-off /v1/teams/:id/analytics
POST /v1/users /v2/charges/:chargeId/refunds /v1/conversations/:id/messages /v1/chat/completions
POST /v1/embeddings
PATCH /v1/users/:id
DELETE /v1/users/:userId
GET /v3/repos/:owner/:repo/pulls/:number/merge => action
PUT /v3/repos/:owner/:repo/pulls/:number/merge => action
# singletons and what exists once
GET /health /healthz /health/live /health/ready /livez /readyz /ready /ping /status /metrics /version
GET /robots.txt /favicon.ico /sitemap.xml /.well-known/openid-configuration /.well-known/security.txt /docs
GET /openapi.json / /v1 /v1/health /v1/status /v1/ping /v1/me /v1/me/playlists /v1/users/me /v1/profile
GET /v1/settings /v1/config /v1/account /v1/balance /v1/cart /v1/dashboard /v1/search /v1/search/users
GET /v1/i18n/:locale /v1/feed /v1/session /v1/time /v1/leaderboard /v1/weather/current /v1/weather/forecast
GET /v1/users/:id/profile /v1/users/:id/settings /v1/orders/:id/status /v1/orders/:id/invoice
GET /v1/accounts/:id/balance /v1/reports/revenue /v1/stats /v1/reports/monthly/summary
POST /graphql /v1/cart/items /v1/checkout /v1/search
PATCH /v1/me
DELETE /v1/cart/items/:id /v1/session
PUT /v1/users/:id/avatar /v1/users/:id/password
# actions
POST /v1/login /v1/logout /v1/register /v1/auth/login /v1/auth/refresh /v1/auth/forgot-password
POST /v1/auth/reset-password /v1/oauth/token /v1/orders/:id/cancel /v1/orders/:id/refund
POST /v1/payments/:id/capture /v1/payment-intents/:id/confirm /v1/invoices/:id/send /v1/invoices/:id/void
POST /v1/messages/:id/read /v1/notifications/read /v1/notifications/read-all /v1/posts/:id/like
POST /v1/users/:id/follow /v1/jobs/:id/retry /v1/deployments/:id/rollback /v1/servers/:id/restart
POST /v1/images/upload /v1/translate /v1/users/bulk /v1/contacts/import /v1/documents/:id/share
GET /v1/oauth/authorize /v1/users/count /v1/users/export
# base paths
GET /api/health
GET /api/v1/users /api/v1/users/:id /rest/v1/customers /public/api/v1/articles /api/users => version
GET /api/users/:id => version
POST /api/v2/orders/:id/cancel /api/auth/login => version
GET /api/v1/getUsers => version uppercase words
# versions
GET /users /users/:id/orders /v1.2/products /1/boards/:id /users/v1 /2024-01/products => version
GET /version1/products => version
POST /orders /login /webhooks/stripe => version
GET /login => version action
# broken rules
GET /v1/user /v1/user/:id /v1/user/:id/orders /v1/product/:id /v1/company/:id/employees => plural
GET /v1/orders/:id/item/:itemId /v1/person/:id => plural
POST /v1/booking => plural
GET /v1/getUsers /v1/getUserById/:id /v1/users/getAll => uppercase words
GET /v1/users/list /v1/users/all /v1/users/:id/delete /v1/fetch-orders => words
POST /v1/users/create /v1/users/:id/update /v1/users/:id/delete /v1/add-product => words
POST /v1/createOrder => uppercase words
DELETE /v1/deleteUser/:id => uppercase words
GET /v1/product_list => underscore words
GET /v1/orderItems /v1/paymentMethods/:id /v1/Products => uppercase
GET /v1/order_items /v1/users/:id/shipping_address => underscore
GET /v1/users/ /v1//orders => slash
GET /v1/orders/:id/cancel /v1/auth/logout => action
PUT /v1/orders/:id/approve => action
POST /v1/cancelOrder/:id => uppercase action
DELETE /v1/users/:id/unfollow => action
GET /v1/tasks/download/csv /v1/orders/export/xlsx
GET /statuses/show/:id /users.list => version words
POST /statuses/update /friendships/create => version words
GET /search/tweets.json => version
POST /chat.postMessage => version uppercase
`)

/** As {@link everydayPaths}, labelled after the rules were tuned. They added a few words only. */
const otherPaths = read(`
GET /v1/tenants/:id/api-keys /v1/issuing/cards/:id /v1/terminal/readers /v1/boards/:id/sprints
GET /v1/pages/:id/children /v1/spaces/:key/content /v1/me/following /v1/browse/featured-playlists
GET /v1/lyrics/:trackId /v1/nearby /v1/places/autocomplete /v1/directions /v1/geocode /v1/routes/:id/stops
GET /v1/matches/:id/lineups /v1/standings /v1/odds/:matchId /v1/quotes/random /v1/trivia /v1/rates/latest
GET /v1/market/trends /v1/ticker /v1/depth /v1/kyc/status /v1/claims/:id/documents /v1/policies/:id
GET /v1/staff/:id/shifts /v1/payroll/runs /v1/leave/requests /v1/courses/:id/curriculum /v1/students/:id/gpa
GET /v1/menus/:id/dishes /v1/vehicles/:vin/location /v1/thermostats/:id /v1/stream /v1/usage /v1/limits
GET /v1/whoami /v1/backup /internal/health /health/db /api-docs /apple-touch-icon.png /ads.txt /sse
GET /v2/store/inventory /v1/forecast.json /v1/reports/download/pdf
POST /v1/webhook-endpoints /v1/terminal/readers/:id/cancel-action /v1/issues/:key/transitions
POST /v1/me/player/next /v1/wallets/:id/transfers /v1/kyc/verification /v1/leave/requests/:id/approve
POST /v1/courses/:id/enroll /v1/reservations/:id/check-in /v1/vehicles/:vin/unlock /v1/batch /v2/store/order
POST /v1/emails/send
PUT /v1/me/player
GET /events /admin/users /posts/:id/comments /api/products/:id /api/v1/auth/me => version
GET /api/v3/pet/:petId => version plural
GET /v2/pet/findByStatus /v1/getForecast => uppercase words
GET /v2/user/login => action
GET /v2/store/order/:orderId /v1/movie/:id /v1/student/:id/courses => plural
POST /v2/user/createWithList => uppercase words
POST /v2/pet/:petId/uploadImage => uppercase plural
GET /v1/movie/now_playing /v1/invoice_items => underscore
GET /v1/genre/movie/list /v1/all-products => words
POST /v1/account/:id/favorite => plural
POST /v1/sendEmail => uppercase
POST /v1/products/:id/update-price => words
PUT /v1/products/:id/edit => words
GET /v1/Customer/:id => uppercase plural
POST /v1/user/add => plural words
DELETE /v1/posts/:id/unlike
`)

const plain: PathVocabulary = {
  collections: new Set(),
  verbs: new Set(knownVerbs),
  selfAliases: new Set(['me', 'self']),
}

t.test('everyday paths: findings that people agree with, and few faults missed', async (t) => {
  t.ok(everydayPaths.length >= 200, 'two hundred paths')
  for (const [paths, floor] of [[everydayPaths, 0.98] as const, [otherPaths, 0.9] as const]) {
    const named = (path: string) => (rule: string) => `${path}: ${rule}`
    const labelled = paths.flatMap(({ method, path, rules }) => rules.map(named(`${method} ${path}`)))
    const found = paths.flatMap(({ method, path }) =>
      pathBreaches([method], path, plain).map(({ rule }) => named(`${method} ${path}`)(rule)),
    )
    const right = found.filter((one) => labelled.includes(one)).length
    const wrong = found.filter((one) => !labelled.includes(one))
    const missed = labelled.filter((one) => !found.includes(one))
    t.ok(right / found.length >= floor, `precision, wrong: ${wrong.join('; ')}`)
    t.ok(right / labelled.length >= floor, `recall, missed: ${missed.join('; ')}`)
  }
})

function read(table: string) {
  return table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [routes = '', rules = ''] = line.split(' => ')
      const [method = '', ...paths] = routes.split(' ')
      return paths.map((path) => ({ method, path, rules: rules === '' ? [] : rules.split(' ') }))
    })
}
