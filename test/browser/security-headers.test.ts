// Own process: waits for a browser
/** What a browser keeps to of the security headers; beside each route that has them stands one that has not. */
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { fetchIn, freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { serveUsers } from './service.js'

const bare = { config: { securityHeaders: false } } as const
const image = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'

function addRoutes(app: FastifyInstance): void {
  for (const [name, options] of [
    ['guarded', {}],
    ['open', bare],
  ] as const) {
    app.get(`/v1/scripts/${name}`, options, (_request, reply) =>
      reply.type('application/json').send(`globalThis.ran = '${name}'`),
    )
    app.get(`/v1/avatars/${name}`, options, (_request, reply) => reply.type('image/svg+xml').send(image))
    app.get(`/v1/items/${name}`, options, () => ({ name }))
  }
  const crossOriginResourcePolicy = { policy: 'cross-origin' } as const
  app.get(
    '/v1/avatars/shared',
    { config: { securityHeaders: { crossOriginResourcePolicy } } },
    (_request, reply) => reply.type('image/svg+xml').send(image),
  )
  app.get('/v1/pages', bare, (_request, reply) => reply.type('text/html').send('<!doctype html>'))
}

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)
  const { url } = await serveUsers(t, {}, addRoutes)

  await t.test('a page cannot run JSON as a script, even one of the same origin', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser))
    await page.goto(`${url}/v1/pages`)
    for (const name of ['guarded', 'open']) {
      await page.setContent(`<script src="/v1/scripts/${name}"></script>`)
      const ran = await page.evaluate<string | undefined>('globalThis.ran')
      t.equal(ran, name === 'open' ? 'open' : undefined, name)
    }
  })

  await t.test(
    'a page of another origin cannot load a response as an image, unless its route allows it',
    async (t) => {
      const { page } = await openPage(t, await freshContext(t, browser))
      for (const [name, width] of [
        ['guarded', 0],
        ['open', 10],
        ['shared', 10],
      ] as const) {
        await page.setContent(`<img src="${url}/v1/avatars/${name}">`)
        t.equal(await page.evaluate('document.images[0].naturalWidth'), width, name)
      }
    },
  )

  await t.test('no page can frame a response', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser))
    for (const [target, framed] of [
      ['/v1/items/guarded', false],
      ['/v1/nothing', false],
      ['/v1/items/open', true],
    ] as const) {
      await page.setContent(`<iframe src="${url}${target}"></iframe>`)
      const frame = page.frames()[1]?.url()
      t.equal(frame, framed ? url + target : 'chrome-error://chromewebdata/', target)
    }
  })

  await t.test('a response that is opened as a page is shown as text, and loads nothing', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser))
    for (const [target, status, type] of [
      ['/v1/items/guarded', 200, 'application/json'],
      ['/v1/nothing', 404, 'application/problem+json'],
      ['/v1/<script>globalThis.ran=1</script>', 404, 'application/problem+json'],
    ] as const) {
      const response = await page.goto(url + target)
      t.equal(response?.status(), status)
      t.equal(await page.evaluate('document.contentType'), type)
      t.equal(await page.evaluate('globalThis.ran'), undefined)
      await t.rejects(fetchIn(page, `${url}/v1/users`), /Failed to fetch/, target)
    }
    await page.goto(`${url}/v1/items/open`)
    t.equal((await fetchIn(page, `${url}/v1/users`)).status, 200)
  })

  await t.test('Strict-Transport-Security is not sent without TLS', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser))
    const response = await page.goto(`${url}/v1/users`)
    t.match(response?.headers(), { 'x-content-type-options': 'nosniff' })
    t.notOk('strict-transport-security' in (response?.headers() ?? {}))
  })
})
