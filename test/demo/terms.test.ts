import t from 'tap'
import { serve, tagOf } from './client.js'
import { emptyDatabase } from './databases.js'

t.test('the terms of service are in the language that the client prefers', async (t) => {
  const client = await serve(t, await emptyDatabase(t))
  const read = (language: string, headers: Record<string, string> = {}) =>
    client.call('GET', '/v1/terms', { headers: { 'accept-language': language, ...headers } })
  const tags = new Set<string>()
  for (const [asked, language, begin] of [
    ['en', 'en', /^This is/],
    ['fr;q=0.5, de-AT;q=0.9', 'de', /^Dies ist/],
    ['nl, FR;q=0.1', 'fr', /^Ceci est/],
    ['en;q=0, *', 'de', /^Dies ist/],
    ['nl', 'en', /^This is/],
  ] as const) {
    const answer = await read(asked)
    t.match(answer, { status: 200, json: { text: begin } }, asked)
    const kept = await read(asked, { 'if-none-match': tagOf(answer) })
    t.match(kept, { status: 304, text: '' }, 'nothing has changed')
    for (const { headers } of [answer, kept]) {
      t.equal(headers.get('vary'), 'Accept-Language')
      t.equal(headers.get('cache-control'), 'public, max-age=3600', 'also with credentials')
    }
    t.equal(answer.headers.get('content-language'), language)
    tags.add(tagOf(answer))
  }
  t.equal(tags.size, 3, 'each language has a tag of its own')
})
