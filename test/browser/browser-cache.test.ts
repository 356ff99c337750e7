// Own process: waits for a browser
/** The cache of a browser, between pages and a service of another origin. */
import t from 'tap'
import { fetchIn, freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { serveUsers } from './service.js'

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test(
    'an unchanged resource is validated: the service sends 304, and the page gets 200',
    async (t) => {
      const { page, origin } = await openPage(t, await freshContext(t, browser))
      const { url, arrived } = await serveUsers(t, { cors: { origin: [origin] } })
      const first = await fetchIn(page, `${url}/v1/users/1`)
      const again = await fetchIn(page, `${url}/v1/users/1`)
      const asked = await fetchIn(page, `${url}/v1/users/1`, { cache: 'no-cache' })
      t.match(first, { status: 200, headers: { etag: /^"/ } })
      t.match(again, { status: 200, headers: { etag: first.headers.etag }, body: first.body })
      t.match(asked, { status: 200, headers: { etag: first.headers.etag }, body: first.body })
      t.strictSame(
        arrived.map(({ status, headers }) => [status, headers['if-none-match']]),
        [
          [200, undefined],
          [304, first.headers.etag],
          [304, first.headers.etag],
        ],
      )
      const own = await fetchIn(page, `${url}/v1/users/1`, {
        headers: { 'if-none-match': first.headers.etag ?? '' },
      })
      t.match(
        own,
        { status: 304, headers: { etag: first.headers.etag }, body: '' },
        'a page may ask so itself',
      )
    },
  )

  await t.test('a cached response for one origin, or for none, is not used for another origin', async (t) => {
    const context = await freshContext(t, browser)
    const { page: one, origin: ofOne } = await openPage(t, context)
    const { page: other, origin: ofOther } = await openPage(t, context)
    const { page: anonymous } = await openPage(t, context)
    const { url, arrived } = await serveUsers(t, { cors: { origin: [ofOne, ofOther] } }, (app) => {
      const config = { caching: { cacheControl: { public: true, maxAge: 60 } } } as const
      app.get('/v1/rates', { config }, () => ({ rates: [] }))
      // For all as an image; what another page may read of it is a matter of CORS alone.
      app.get('/v1/logos', { config: { ...config, securityHeaders: false } }, (_request, reply) =>
        reply.type('image/svg+xml').send('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      )
    })
    t.equal((await fetchIn(one, `${url}/v1/rates`)).status, 200)
    t.equal((await fetchIn(one, `${url}/v1/rates`)).status, 200)
    t.equal(arrived.length, 1, 'the second time it comes from the cache')
    t.equal((await fetchIn(other, `${url}/v1/rates`)).status, 200)
    t.equal((await fetchIn(one, `${url}/v1/rates`)).status, 200)
    await t.rejects(fetchIn(anonymous, `${url}/v1/rates`), /TypeError: Failed to fetch/)
    t.strictSame(
      arrived.map(({ status }) => status),
      [200, 304, 304, 304],
      'the bytes come once, who may read them each time',
    )

    await one.setContent(`<img src="${url}/v1/logos">`)
    t.notOk('origin' in (arrived.at(-1)?.headers ?? {}), 'an image is asked for without an origin')
    t.equal((await fetchIn(one, `${url}/v1/logos`)).status, 200)
  })
})
