const addedAt = '2026-01-05T08:00:00Z'

/** The books of the library. */
export const shelf = new Map(
  [
    { id: '01JGYQ4RW8T3', title: 'Notes', authorName: 'Ada', pageCount: 66, addedAt },
    { id: '01JGYQ5VN2K9', title: 'Compilers', authorName: 'Grace', pageCount: 210, addedAt },
  ].map((book) => [book.id, book]),
)
