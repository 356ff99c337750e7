/** The example of docs/spectral.md runs, and finds what it shows. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { importCheck, skipWithoutChecks } from '../support/checks.js'

t.test('the example finds what the page shows', { skip: skipWithoutChecks() }, async (t) => {
  const page = await readFile(new URL('../../docs/spectral.md', import.meta.url), 'utf8')
  const [, source = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  const [, shown = ''] = /```\n(pathGuard.*?)\n```/s.exec(page) ?? []
  // Beside the package, whose name it imports.
  const folder = new URL('../../.cache/spectral/', import.meta.url)
  await mkdir(folder, { recursive: true })
  await writeFile(new URL('spectral.mjs', folder), source)
  const { default: ruleset } = (await import(new URL('spectral.mjs', folder).href)) as { default: object }
  const { Spectral } =
    await importCheck<typeof import('@stoplight/spectral-core')>('@stoplight/spectral-core')
  const spectral = new Spectral()
  spectral.setRuleset(ruleset as never)
  const schema = { type: 'object', properties: { data: { type: 'array' }, total: { type: 'integer' } } }
  const results = await spectral.run({
    openapi: '3.1.0',
    paths: {
      '/v1/user/{id}': { get: {} },
      '/v1/users': { get: { responses: { 200: { content: { 'application/json': { schema } } } } } },
    },
  })
  const lines = results.map(({ code, message }) => `${code}`.padEnd(24) + message)
  t.strictSame(lines.sort(), shown.split('\n'))
})
