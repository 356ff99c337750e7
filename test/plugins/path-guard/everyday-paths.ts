/** A route, and the rules that it breaks. */
interface EverydayPath {
  readonly method: string
  readonly path: string
  readonly rules: readonly string[]
}

/**
 * Routes as public APIs have them, from memory and with other names, labelled by hand: behind `=>` the rules that the route
 * breaks by the conventions of this package. Do not change a label to what the rules say: change it only if it is wrong.
 */
export const everydayPaths: readonly EverydayPath[] = read(`
# collections and items
GET /v1/users
POST /v1/users
GET /v1/users/:id
PATCH /v1/users/:id
DELETE /v1/users/:userId
GET /v2/charges
GET /v2/charges/:chargeId
POST /v2/charges/:chargeId/refunds
GET /v1/customers/:customer/payment-methods
GET /v1/customers/:customer/payment-methods/:method
GET /v1/invoices/:id/lines
GET /v1/subscription-items/:item/usage-record-summaries
GET /v3/repos/:owner/:repo
GET /v3/repos/:owner/:repo/issues
GET /v3/repos/:owner/:repo/issues/:number/comments
GET /v3/repos/:owner/:repo/branches/:branch/protection
GET /v3/repos/:owner/:repo/pulls/:number/merge => action
PUT /v3/repos/:owner/:repo/pulls/:number/merge => action
GET /v3/orgs/:org/members
GET /v1/playlists/:id/tracks
GET /v1/albums
GET /v1/artists/:id/top-tracks
GET /v1/artists/:id/related-artists
GET /v1/movies/:id/credits
GET /v1/people/:id/movie-credits
GET /v1/tv/:id/seasons/:number
GET /v1/news
GET /v1/media/:id
GET /v1/series/:id/episodes
GET /v1/products/:id/inventory
GET /v1/warehouses/:id/stock
GET /v1/categories/:slug/products
GET /v1/conversations/:id/messages
POST /v1/conversations/:id/messages
GET /v1/channels/:id/pins
GET /v1/tickets/:id/attachments
GET /v1/boards/:id/lists
GET /v1/cards/:id/checklists
GET /v1/projects/:id/environments/:env/variables
GET /v1/functions/:name/logs
GET /v1/zones/:zone/dns-records
GET /v1/droplets/:id/snapshots
GET /v1/flights/:id/seats
GET /v1/hotels/:id/availability
GET /v1/stations/:id/departures
GET /v1/devices/:id/telemetry
GET /v1/sensors/:id/readings
GET /v1/patients/:id/appointments
GET /v1/models
POST /v1/chat/completions
POST /v1/embeddings
GET /v1/fine-tuning/jobs/:id/events
GET /v1/files/:id/content
GET /v1/audit-logs
GET /v1/currencies/:code
GET /v1/exchange-rates
GET /v1/exchange-rates/latest
GET /v1/countries/:iso/regions
GET /v1/users/:id/followers
GET /v1/users/by-email/:email
GET /v1/employees/:id/time-off
GET /v1/teams/:id/analytics
# singletons and what exists once
GET /health
GET /healthz
GET /health/live
GET /health/ready
GET /livez
GET /readyz
GET /ready
GET /ping
GET /status
GET /metrics
GET /version
GET /robots.txt
GET /favicon.ico
GET /sitemap.xml
GET /.well-known/openid-configuration
GET /.well-known/security.txt
POST /graphql
GET /docs
GET /openapi.json
GET /
GET /v1
GET /v1/health
GET /v1/status
GET /v1/ping
GET /v1/me
PATCH /v1/me
GET /v1/me/playlists
GET /v1/users/me
GET /v1/profile
GET /v1/settings
GET /v1/config
GET /v1/account
GET /v1/balance
GET /v1/cart
POST /v1/cart/items
DELETE /v1/cart/items/:id
POST /v1/checkout
GET /v1/dashboard
GET /v1/search
POST /v1/search
GET /v1/search/users
GET /v1/i18n/:locale
GET /v1/feed
GET /v1/session
DELETE /v1/session
GET /v1/time
GET /v1/leaderboard
GET /v1/weather/current
GET /v1/weather/forecast
GET /v1/users/:id/profile
GET /v1/users/:id/settings
PUT /v1/users/:id/avatar
PUT /v1/users/:id/password
GET /v1/orders/:id/status
GET /v1/orders/:id/invoice
GET /v1/accounts/:id/balance
GET /v1/reports/revenue
GET /v1/stats
GET /v1/reports/monthly/summary
# actions
POST /v1/login
POST /v1/logout
POST /v1/register
POST /v1/auth/login
POST /v1/auth/refresh
POST /v1/auth/forgot-password
POST /v1/auth/reset-password
POST /v1/oauth/token
GET /v1/oauth/authorize
POST /v1/orders/:id/cancel
POST /v1/orders/:id/refund
POST /v1/payments/:id/capture
POST /v1/payment-intents/:id/confirm
POST /v1/invoices/:id/send
POST /v1/invoices/:id/void
POST /v1/messages/:id/read
POST /v1/notifications/read
POST /v1/notifications/read-all
POST /v1/posts/:id/like
POST /v1/users/:id/follow
POST /v1/jobs/:id/retry
POST /v1/deployments/:id/rollback
POST /v1/servers/:id/restart
POST /v1/images/upload
POST /v1/translate
POST /v1/users/bulk
GET /v1/users/count
GET /v1/users/export
POST /v1/contacts/import
POST /v1/documents/:id/share
# base paths
GET /api/health
GET /api/v1/users => version
GET /api/v1/users/:id => version
POST /api/v2/orders/:id/cancel => version
GET /rest/v1/customers => version
GET /public/api/v1/articles => version
GET /api/users => version
GET /api/users/:id => version
POST /api/auth/login => version
GET /api/v1/getUsers => version uppercase words
# versions
GET /users => version
GET /users/:id/orders => version
POST /orders => version
GET /v1.2/products => version
GET /1/boards/:id => version
GET /users/v1 => version
GET /2024-01/products => version
GET /version1/products => version
POST /login => version
GET /login => version action
POST /webhooks/stripe => version
# broken rules
GET /v1/user => plural
GET /v1/user/:id => plural
GET /v1/user/:id/orders => plural
GET /v1/product/:id => plural
GET /v1/company/:id/employees => plural
GET /v1/orders/:id/item/:itemId => plural
GET /v1/person/:id => plural
POST /v1/booking => plural
GET /v1/getUsers => uppercase words
GET /v1/getUserById/:id => uppercase words
GET /v1/users/getAll => uppercase words
GET /v1/users/list => words
GET /v1/users/all => words
POST /v1/users/create => words
POST /v1/createOrder => uppercase words
POST /v1/users/:id/update => words
POST /v1/users/:id/delete => words
DELETE /v1/deleteUser/:id => uppercase words
GET /v1/users/:id/delete => words
POST /v1/add-product => words
GET /v1/product_list => underscore words
GET /v1/fetch-orders => words
GET /v1/orderItems => uppercase
GET /v1/order_items => underscore
GET /v1/paymentMethods/:id => uppercase
GET /v1/users/:id/shipping_address => underscore
GET /v1/Products => uppercase
GET /v1/users/ => slash
GET /v1//orders => slash
GET /v1/orders/:id/cancel => action
GET /v1/auth/logout => action
PUT /v1/orders/:id/approve => action
POST /v1/cancelOrder/:id => uppercase action
DELETE /v1/users/:id/unfollow => action
GET /v1/tasks/download/csv
GET /v1/orders/export/xlsx
GET /statuses/show/:id => version words
POST /statuses/update => version words
POST /friendships/create => version words
GET /search/tweets.json => version
POST /chat.postMessage => version uppercase
GET /users.list => version words
`)

/** As {@link everydayPaths}, labelled after the rules were tuned. They added a few words only. */
export const otherPaths: readonly EverydayPath[] = read(`
GET /v1/tenants/:id/api-keys
POST /v1/webhook-endpoints
GET /v1/issuing/cards/:id
GET /v1/terminal/readers
POST /v1/terminal/readers/:id/cancel-action
GET /v1/boards/:id/sprints
POST /v1/issues/:key/transitions
GET /v1/pages/:id/children
GET /v1/spaces/:key/content
GET /v1/me/following
PUT /v1/me/player
POST /v1/me/player/next
GET /v1/browse/featured-playlists
GET /v1/lyrics/:trackId
GET /v1/nearby
GET /v1/places/autocomplete
GET /v1/directions
GET /v1/geocode
GET /v1/routes/:id/stops
GET /v1/matches/:id/lineups
GET /v1/standings
GET /v1/odds/:matchId
GET /v1/quotes/random
GET /v1/trivia
GET /v1/rates/latest
GET /v1/market/trends
GET /v1/ticker
GET /v1/depth
POST /v1/wallets/:id/transfers
GET /v1/kyc/status
POST /v1/kyc/verification
GET /v1/claims/:id/documents
GET /v1/policies/:id
GET /v1/staff/:id/shifts
GET /v1/payroll/runs
GET /v1/leave/requests
POST /v1/leave/requests/:id/approve
GET /v1/courses/:id/curriculum
POST /v1/courses/:id/enroll
GET /v1/students/:id/gpa
GET /v1/menus/:id/dishes
POST /v1/reservations/:id/check-in
GET /v1/vehicles/:vin/location
POST /v1/vehicles/:vin/unlock
GET /v1/thermostats/:id
GET /v1/stream
GET /v1/usage
GET /v1/limits
POST /v1/batch
GET /v1/whoami
GET /v1/backup
GET /internal/health
GET /health/db
GET /api-docs
GET /apple-touch-icon.png
GET /ads.txt
GET /sse
GET /events => version
GET /admin/users => version
GET /api/v3/pet/:petId => version plural
GET /v2/pet/findByStatus => uppercase words
GET /v2/store/inventory
POST /v2/store/order
GET /v2/user/login => action
GET /v2/store/order/:orderId => plural
POST /v2/user/createWithList => uppercase words
POST /v2/pet/:petId/uploadImage => uppercase plural
GET /v1/movie/:id => plural
GET /v1/movie/now_playing => underscore
GET /v1/genre/movie/list => words
POST /v1/account/:id/favorite => plural
GET /v1/forecast.json
GET /v1/getForecast => uppercase words
POST /v1/sendEmail => uppercase
POST /v1/emails/send
GET /v1/student/:id/courses => plural
GET /v1/all-products => words
POST /v1/products/:id/update-price => words
PUT /v1/products/:id/edit => words
GET /v1/Customer/:id => uppercase plural
GET /v1/invoice_items => underscore
GET /v1/reports/download/pdf
POST /v1/user/add => plural words
GET /posts/:id/comments => version
DELETE /v1/posts/:id/unlike
GET /api/products/:id => version
GET /api/v1/auth/me => version
`)

function read(table: string): EverydayPath[] {
  return table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [route = '', rules = ''] = line.split(' => ')
      const [method = '', path = ''] = route.split(' ')
      return { method, path, rules: rules === '' ? [] : rules.split(' ') }
    })
}
