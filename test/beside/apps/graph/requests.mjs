const notes = {
  id: '01JGYQ4RW8T3',
  title: 'Notes',
  authorName: 'Ada',
  pageCount: 66,
  addedAt: '2026-01-05T08:00:00Z',
}

const graphql = (query, variables) => ({ method: 'POST', url: '/graphql', payload: { query, variables } })

/** The tests of the app: requests in their order, and what each has to get. */
export default [
  {
    name: 'query',
    ...graphql('{ books { title authorName } }'),
    status: 200,
    fields: { 'content-type': 'application/json; charset=utf-8' },
    body: {
      data: {
        books: [
          { title: 'Notes', authorName: 'Ada' },
          { title: 'Compilers', authorName: 'Grace' },
        ],
      },
    },
  },
  {
    name: 'query by GET',
    url: `/graphql?query=${encodeURIComponent('{ book(id: "01JGYQ4RW8T3") { pageCount } }')}`,
    status: 200,
    body: { data: { book: { pageCount: 66 } } },
  },
  {
    name: 'mutation',
    ...graphql('mutation ($id: ID!) { renameBook(id: $id, title: "Sketches") { id title } }', {
      id: notes.id,
    }),
    status: 200,
    body: { data: { renameBook: { id: notes.id, title: 'Sketches' } } },
  },
  {
    name: 'a fault in a resolver',
    ...graphql('{ broken }'),
    status: 200,
    body: {
      data: { broken: null },
      errors: [{ message: 'the shelf is gone', locations: [{ line: 1, column: 3 }], path: ['broken'] }],
    },
  },
  {
    name: 'an unknown field',
    ...graphql('{ authors }'),
    status: 400,
    body: {
      data: null,
      errors: [
        { message: 'Cannot query field "authors" on type "Query".', locations: [{ line: 1, column: 3 }] },
      ],
    },
  },
  {
    name: 'GraphiQL',
    url: '/graphiql',
    status: 200,
    fields: { 'content-type': /^text\/html/ },
    body: /<title>GraphiQL/,
  },
  { name: 'health', url: '/healthz', status: 200, body: { ok: true } },
  { name: 'books', url: '/rest/books?author=Ada', status: 200, body: [notes] },
  { name: 'book', url: '/rest/books/01JGYQ4RW8T3', status: 200, body: notes },
  { name: 'no book', url: '/rest/books/01JGYQ4RW8T9', status: 404, body: { error: 'no such book' } },
  {
    name: 'create',
    method: 'POST',
    url: '/rest/books',
    payload: { title: 'Letters', authorName: 'Ada', pageCount: 12 },
    status: 201,
    body: {
      id: '01JGYQ7XZ0AB',
      title: 'Letters',
      authorName: 'Ada',
      pageCount: 12,
      addedAt: '2026-01-07T08:00:00Z',
    },
  },
  {
    name: 'create without a title',
    method: 'POST',
    url: '/rest/books',
    payload: { title: '', authorName: 'Ada', pageCount: 12 },
    status: 422,
    body: {
      error: 'invalid input',
      issues: [{ path: '/title', message: 'Too small: expected string to have >=1 characters' }],
    },
  },
  { name: 'fault', url: '/rest/faults', status: 500, body: { error: 'the shelf is gone' } },
  { name: 'document', url: '/openapi.json', status: 200, body: /"\/rest\/books\/\{bookId\}"/ },
  {
    name: 'an unknown path',
    url: '/nothing',
    status: 404,
    body: { message: 'Route GET:/nothing not found', error: 'Not Found', statusCode: 404 },
  },
]
