import { shelf } from './shelf.mjs'

export const schema = `
  type Book { id: ID!  title: String!  authorName: String!  pageCount: Int! }
  type Query { books: [Book!]!  book(id: ID!): Book  broken: String }
  type Mutation { renameBook(id: ID!, title: String!): Book }
`

export const resolvers = {
  Query: {
    books: () => [...shelf.values()],
    book: (_, { id }) => shelf.get(id),
    broken: () => {
      throw new Error('the shelf is gone')
    },
  },
  Mutation: {
    renameBook: (_, { id, title }) => {
      const book = shelf.get(id)
      return book && { ...book, title }
    },
  },
}
