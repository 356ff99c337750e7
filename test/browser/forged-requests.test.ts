/** What a page of another site can have a browser send, with nobody's leave. */
import t from 'tap'
import { ProblemError } from '../../src/index.js'
import { fetchIn, freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { serveUsers } from './service.js'

const override = { 'x-http-method-override': 'DELETE' }
const urlencoded = 'application/x-www-form-urlencoded'

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test(
    'an image, a script, a style, a frame, a link and a form that gets are never more than a GET',
    async (t) => {
      const { page } = await openPage(t, await freshContext(t, browser), 'localhost')
      const { url, arrived, handled } = await serveUsers(t)
      const target = (id: number) => `${url}/v1/users/${id}?_method=delete`
      await page.setContent(`
      <img src="${target(1)}">
      <script src="${target(2)}"></script>
      <link rel="stylesheet" href="${target(3)}">
      <iframe src="${target(4)}"></iframe>
      <a href="${target(5)}">a link</a>`)
      await page.click('a')
      await page.waitForURL(target(5))
      const { page: another } = await openPage(t, page.context(), 'localhost')
      await another.setContent(`
        <form action="${url}/v1/users/6"><input name="_method" value="DELETE"><button>send</button></form>`)
      await another.click('button')
      await another.waitForURL(`${url}/v1/users/6?_method=DELETE`)

      const targets = new Set(arrived.map((arrival) => arrival.url.toLowerCase()))
      for (const id of [1, 2, 3, 4, 5, 6])
        t.ok(targets.has(`/v1/users/${id}?_method=delete`), `${id} was sent`)
      t.strictSame(new Set(arrived.map(({ method }) => method)), new Set(['GET']))
      t.strictSame(new Set(handled.map((call) => call.split(' ')[0])), new Set(['GET']))
    },
  )

  await t.test('a script of a page cannot send the header that overrides', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser), 'localhost')
    const { url, arrived, handled } = await serveUsers(t)
    const target = `${url}/v1/users/1`
    await t.rejects(fetchIn(page, target, { method: 'POST', headers: override }), /Failed to fetch/)
    t.strictSame(
      arrived.map(({ method }) => method),
      ['OPTIONS'],
      'it is asked for, and no more',
    )
    // What is answered is kept from the page by another header of the preset.
    const opaque = { method: 'POST', mode: 'no-cors', headers: override } as const
    await t.rejects(fetchIn(page, target, opaque), /Failed to fetch/)
    t.match(arrived.at(-1), { method: 'POST', status: 405 })
    t.notOk('x-http-method-override' in (arrived.at(-1)?.headers ?? {}), 'the browser leaves it out')
    await t.rejects(fetchIn(page, target, { method: 'DELETE', mode: 'no-cors' }), /is unsupported in no-cors/)
    t.equal(arrived.length, 2, 'the browser does not send it')
    t.strictSame(handled, [])
  })

  await t.test('a form of a type that is not looked at is a POST, whatever is in it', async (t) => {
    const context = await freshContext(t, browser)
    const { url, arrived, handled } = await serveUsers(t)
    for (const type of ['text/plain', 'multipart/form-data']) {
      const { page } = await openPage(t, context, 'localhost')
      const answered = page.waitForResponse(`${url}/v1/users/1`)
      await page.setContent(postedForm(url, type))
      await page.click('button')
      t.equal((await answered).status(), 405, type)
      t.match(arrived.at(-1), { method: 'POST', headers: { 'content-type': new RegExp(`^${type}`) } })
    }
    t.strictSame(handled, [])
  })

  await t.test('with `form: false` no form of another site is more than a POST', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser), 'localhost')
    const { url, arrived, handled } = await serveUsers(t, { methodOverride: { form: false } })
    const answered = page.waitForResponse(`${url}/v1/users/1`)
    await page.setContent(postedForm(url, urlencoded))
    await page.click('button')
    t.equal((await answered).status(), 405)
    t.match(arrived, [
      { method: 'POST', headers: { 'content-type': urlencoded, 'sec-fetch-site': 'cross-site' } },
    ])
    t.strictSame(handled, [])
  })

  await t.test(
    'a form that is looked at is the DELETE it names to a hook, which can refuse it in time',
    async (t) => {
      const { page } = await openPage(t, await freshContext(t, browser), 'localhost')
      const refused: string[] = []
      const { url, arrived, handled } = await serveUsers(t, {}, (app) => {
        app.addHook('onRequest', async ({ method, headers }) => {
          if (headers['sec-fetch-site'] !== 'cross-site') return
          refused.push(method)
          throw new ProblemError('forbidden', { status: 403 })
        })
      })
      const answered = page.waitForResponse(`${url}/v1/users/1`)
      await page.setContent(postedForm(url, urlencoded))
      await page.click('button')
      t.equal((await answered).status(), 403)
      t.match(arrived, [{ method: 'POST' }])
      t.strictSame(refused, ['DELETE'])
      t.strictSame(handled, [])
    },
  )
})

/** A form that names the method DELETE to the service. */
function postedForm(url: string, type: string): string {
  return `
    <form action="${url}/v1/users/1" method="post" enctype="${type}">
      <input name="_method" value="DELETE"><button>send</button>
    </form>`
}
