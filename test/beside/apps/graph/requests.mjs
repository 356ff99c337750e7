const id = '01JGYQ4RW8T3'
const notes = { id, title: 'Notes', authorName: 'Ada', pageCount: 66, addedAt: '2026-01-05T08:00:00Z' }
const letters = { title: 'Letters', authorName: 'Ada', pageCount: 12 }
const books = [
  { title: 'Notes', authorName: 'Ada' },
  { title: 'Compilers', authorName: 'Grace' },
]
const rename = 'mutation ($id: ID!) { renameBook(id: $id, title: "Sketches") { id title } }'
const locations = [{ line: 1, column: 3 }]
const gone = [{ message: 'the shelf is gone', locations, path: ['broken'] }]
const unknown = [{ message: 'Cannot query field "authors" on type "Query".', locations }]
const byGet = encodeURIComponent(`{ book(id: "${id}") { pageCount } }`)
const fields = { 'content-type': 'application/json; charset=utf-8' }
const issues = [{ path: '/title', message: 'Too small: expected string to have >=1 characters' }]
const untitled = { error: 'invalid input', issues }
const created = { id: '01JGYQ7XZ0AB', ...letters, addedAt: '2026-01-07T08:00:00Z' }
const nothing = { message: 'Route GET:/nothing not found', error: 'Not Found', statusCode: 404 }

const graphql = (query, variables) => ({ payload: { query, variables } })

/** The tests of the app, in their order: name, method and URL, status, body, and what else is sent or gotten. */
export default [
  [
    'query',
    'POST /graphql',
    200,
    { data: { books } },
    { ...graphql('{ books { title authorName } }'), fields },
  ],
  ['query by GET', `GET /graphql?query=${byGet}`, 200, { data: { book: { pageCount: 66 } } }],
  [
    'mutation',
    'POST /graphql',
    200,
    { data: { renameBook: { id, title: 'Sketches' } } },
    graphql(rename, { id }),
  ],
  [
    'a fault in a resolver',
    'POST /graphql',
    200,
    { data: { broken: null }, errors: gone },
    graphql('{ broken }'),
  ],
  ['an unknown field', 'POST /graphql', 400, { data: null, errors: unknown }, graphql('{ authors }')],
  ['GraphiQL', 'GET /graphiql', 200, /<title>GraphiQL/, { fields: { 'content-type': /^text\/html/ } }],
  ['health', 'GET /healthz', 200, { ok: true }],
  ['books', 'GET /rest/books?author=Ada', 200, [notes]],
  ['book', `GET /rest/books/${id}`, 200, notes],
  ['no book', 'GET /rest/books/01JGYQ4RW8T9', 404, { error: 'no such book' }],
  ['create', 'POST /rest/books', 201, created, { payload: letters }],
  ['create without a title', 'POST /rest/books', 422, untitled, { payload: { ...letters, title: '' } }],
  ['fault', 'GET /rest/faults', 500, { error: 'the shelf is gone' }],
  ['document', 'GET /openapi.json', 200, /"\/rest\/books\/\{bookId\}"/],
  ['an unknown path', 'GET /nothing', 404, nothing],
]
