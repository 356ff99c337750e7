const unknown = { message: 'Route GET:/nothing not found', error: 'Not Found', statusCode: 404 }

/** The tests of the app, in their order: name, method and URL, status, body. */
export default [
  ['default root route', 'GET /', 200, { root: true }],
  ['example is loaded', 'GET /example', 200, 'this is an example'],
  ['an unknown path', 'GET /nothing', 404, unknown],
]
