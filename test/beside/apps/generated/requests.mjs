/** The tests of the app: requests in their order, and what each has to get. */
export default [
  { name: 'default root route', url: '/', status: 200, body: { root: true } },
  { name: 'example is loaded', url: '/example', status: 200, body: 'this is an example' },
  {
    name: 'an unknown path',
    url: '/nothing',
    status: 404,
    body: { message: 'Route GET:/nothing not found', error: 'Not Found', statusCode: 404 },
  },
]
