import t from 'tap'
import { serve } from './client.js'
import { emptyDatabase } from './databases.js'
import { adminToken } from './issuer.js'

/** How the text of a language begins. */
const firstWords = { en: /^This is/, de: /^Dies ist/, fr: /^Ceci est/ } as const

t.test('the terms of service', async (t) => {
  const client = await serve(t, await emptyDatabase(t))
  const read = (language: string | null, headers: Record<string, string> = {}) =>
    client.call('GET', '/v1/terms', {
      headers: { ...(language === null ? {} : { 'accept-language': language }), ...headers },
    })

  for (const [asked, answered] of [
    ['en', 'en'],
    ['de', 'de'],
    ['fr', 'fr'],
    ['de-AT', 'de'],
    ['DE', 'de'],
    ['fr;q=0.5, de;q=0.9', 'de'],
    ['nl, fr;q=0.1', 'fr'],
    ['nl', 'en'],
    ['*', 'en'],
    ['en;q=0, *', 'de'],
    ['', 'en'],
    [';;;q=x', 'en'],
  ] as const) {
    await t.test(`Accept-Language: ${asked} gets ${answered}`, async (t) => {
      const answer = await read(asked)
      t.equal(answer.status, 200)
      t.equal(answer.headers.get('content-language'), answered)
      t.match(answer.json.text, firstWords[answered])
      t.equal(answer.headers.get('vary'), 'Accept-Language')
      t.equal(answer.headers.get('cache-control'), 'public, max-age=3600')
    })
  }

  await t.test('each language has its own tag, which matches no other language', async (t) => {
    const tags = await Promise.all(
      Object.keys(firstWords).map(async (language) => (await read(language)).headers.get('etag') ?? ''),
    )
    t.equal(new Set(tags).size, 3)
    const [english = '', german = ''] = tags
    t.match(await read('en', { 'if-none-match': german }), { status: 200 })
    const known = await read('en', { 'if-none-match': english })
    t.match(known, { status: 304, text: '' })
    t.equal(known.headers.get('vary'), 'Accept-Language', 'also where nothing is answered')
    t.equal(known.headers.get('etag'), english)
    t.equal(known.headers.get('cache-control'), 'public, max-age=3600')
    t.equal(known.headers.get('content-language'), null)
  })

  await t.test('each language has its own Last-Modified', async (t) => {
    for (const language of Object.keys(firstWords)) {
      t.match((await read(language)).headers.get('last-modified'), /^\w{3}, \d\d Jan 2026 09:00:00 GMT$/)
    }
  })

  await t.test('a response to a request with credentials is public too', async (t) => {
    const answer = await read('de', { authorization: `Bearer ${await adminToken()}` })
    t.equal(answer.headers.get('cache-control'), 'public, max-age=3600')
  })

  await t.test('a 406 has Vary too, and is not storable', async (t) => {
    const answer = await read('de', { accept: 'text/html' })
    t.match(answer, { status: 406, json: { code: 'not-acceptable' } })
    t.equal(answer.headers.get('vary'), 'accept, Accept-Language')
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.match(await client.get('/v1/terms?fields=text'), { status: 400 })
  })
})
