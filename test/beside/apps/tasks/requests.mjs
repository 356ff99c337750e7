/** How a user logs in. */
export const login = (username, password = 'Password123$') => ({
  method: 'POST',
  url: '/api/v1/auth/login',
  payload: { username, password },
})

const first = {
  id: 1,
  name: 'Write the minutes',
  author_id: 1,
  assigned_user_id: 2,
  status: 'new',
  created_at: '2026-01-05T08:00:00.000Z',
  updated_at: '2026-01-05T08:00:00.000Z',
}

const message = (text) => ({ message: text })
const fields = { 'content-type': 'application/json; charset=utf-8' }
const origin = 'https://tasks.example'
const ofHelmet = { 'content-security-policy': /^default-src 'self';/, 'referrer-policy': 'same-origin' }
const ofCors = { 'access-control-allow-origin': origin, vary: 'Origin' }
const preflight = { origin, 'access-control-request-method': 'PATCH' }
const allowed = { 'access-control-allow-methods': 'GET, POST, PATCH' }
const session = { 'set-cookie': /^session=.+; Path=\/; HttpOnly/, 'x-ratelimit-limit': '20' }
const csv = { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="tasks.csv"' }
const text = 'Tasks, version 1\n'
const json = { 'content-type': 'application/json' }
const xml = { headers: { 'content-type': 'application/xml' }, payload: '<task/>' }
const range = { headers: { range: 'bytes=0-4' }, fields: { 'content-range': 'bytes 0-4/17' } }
const tasks = 'id,name\n1,Write the minutes\n2,Order coffee\n3,Water the plants\n4,Feed the cat\n'
const tooShort = message('body/password must NOT have fewer than 8 characters')
const completed = { status: 'completed', assigned_user_id: '2' }
const updated = /"id":4,"name":"Feed the cat","author_id":1,"assigned_user_id":2,"status":"completed"/
const logIn = 'POST /api/v1/auth/login'
const create = 'ada POST /api/v1/tasks'

/** The tests of the app, in their order: name, user, method and URL, status, body, and what else is sent or gotten. */
export default [
  ['home', 'GET /', 200, message('Welcome to tasks!'), { fields }],
  ['health', 'GET /health', 200, { status: 'ok' }],
  ['security headers', 'GET /', 200, undefined, { fields: ofHelmet }],
  ['a page of the client', 'GET /', 200, undefined, { headers: { origin }, fields: ofCors }],
  ['preflight', 'OPTIONS /api/v1/tasks', 204, '', { headers: preflight, fields: allowed }],
  ['quota', 'GET /', 200, undefined, { fields: { 'x-ratelimit-limit': '5000' } }],
  ['without a session', 'GET /api/v1/tasks', 401, message('You must be authenticated to access this route.')],
  ['wrong password', logIn, 401, message('Invalid username or password.'), login('ada', 'Password321$')],
  ['no password', logIn, 400, tooShort, login('ada', '')],
  ['login', logIn, 200, { success: true }, { ...login('ada'), fields: session }],
  ['greeting', 'ada GET /api', 200, message('Hello ada! See documentation at http://localhost/api/docs')],
  ['task', 'ada GET /api/v1/tasks/1', 200, first, { fields }],
  ['head', 'ada HEAD /api/v1/tasks/1', 200, ''],
  ['no task', 'ada GET /api/v1/tasks/99', 404, message('Task not found')],
  ['no id', 'ada GET /api/v1/tasks/abc', 400, message('params/id must be integer')],
  ['page', 'ada GET /api/v1/tasks?page=1&limit=1', 200, { tasks: [first], total: 3 }],
  ['limit', 'ada GET /api/v1/tasks?limit=1000', 400, message('querystring/limit must be <= 100')],
  ['create', create, 201, { id: 4 }, { payload: { name: 'Feed the cat', priority: 3 }, fields }],
  ['create without a name', create, 400, message("body must have required property 'name'"), { payload: {} }],
  ['create from broken JSON', create, 400, undefined, { headers: json, payload: '{' }],
  ['create from another type', create, 415, message('Unsupported Media Type'), xml],
  ['update', 'ada PATCH /api/v1/tasks/4', 200, updated, { payload: completed }],
  ['CSV', 'ada GET /api/v1/tasks/download/csv', 200, tasks, { fields: csv }],
  ['fault', 'ada GET /api/v1/tasks/statistics', 500, message('Internal Server Error')],
  ['static file', 'GET /public/about.txt', 200, text, { fields: { 'accept-ranges': 'bytes' } }],
  ['part of a file', 'GET /public/about.txt', 206, 'Tasks', range],
  ['documentation', 'GET /api/docs/', 200, /swagger-ui/, { fields: { 'content-type': /^text\/html/ } }],
  ['document', 'GET /api/docs/json', 200, /"\/api\/v1\/tasks\/\{id\}"/],
  ['logout', 'bo POST /api/v1/auth/logout', 200, { success: true }],
  ['an unknown path', 'GET /nothing', 404, message('Not Found')],
  ['no such file', 'GET /public/nothing.txt', 404, message('Not Found')],
  ['a second unknown path', 'GET /somewhere', 404, message('Not Found')],
  ['a third unknown path', 'GET /something', 404, message('Not Found')],
  ['guessing paths', 'GET /anything', 429, message('More than 3 requests in a minute')],
]
