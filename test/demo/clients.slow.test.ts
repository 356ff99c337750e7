// Own process: it is slow
/**
 * Clients that generators make from the demo's OpenAPI document compile as strictly as TypeScript can, and drive the demo
 * over a socket: create, conflict, update with `If-Match`, operation, and pages of ids beyond 2^53.
 */
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { runCommand } from '../package/run-command.js'
import { checkPackages, skipWithoutChecks } from '../support/checks.js'
import { serve } from './client.js'
import type { Drive } from './clients/drive.js'
import { emptyEmbeddedDatabase } from './databases.js'
import { adminToken } from './issuer.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, '.cache/clients')
const document = join(folder, 'openapi.json')

/** Each generator, with its arguments. */
const generators = {
  'openapi-fetch': ['openapi-typescript', document, '-o', 'openapi-typescript.d.ts'],
  'hey-api': ['openapi-ts', '-i', document, '-o', 'hey-api', '--no-log-file'],
} as const

const compilerOptions = {
  target: 'ES2022',
  lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  module: 'NodeNext',
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  rootDir: '.',
  outDir: 'compiled',
}

t.test('clients of generators', { skip: skipWithoutChecks() }, async (t) => {
  const client = await serve(t, await emptyEmbeddedDatabase())
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await cp(join(root, 'test/demo/clients'), folder, { recursive: true })
  await writeFile(document, (await client.anonymous.get('/openapi.json')).text)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await symlink(checkPackages, join(folder, 'node_modules'))

  const token = await adminToken()
  for (const [name, [program, ...args]] of Object.entries(generators)) {
    await t.test(`the client of ${name}`, async (t) => {
      await runCommand(join(checkPackages, '.bin', program), args, folder)
      const files = [`${name}.ts`]
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
      await runCommand(join(root, 'node_modules/.bin/tsc'), [], folder)

      const compiled = pathToFileURL(join(folder, 'compiled', `${name}.js`)).href
      const { drive } = (await import(compiled)) as { readonly drive: Drive }
      const driven = await drive({ origin: client.origin, token, pause: () => pause(20) })
      t.match(driven, {
        statuses: [201, 202],
        age: 37,
        codes: ['already-exists', 'precondition-failed'],
        state: 'Succeeded',
      })
      t.ok(BigInt(driven.id) > 2n ** 53n, driven.id)
      t.equal(driven.orders.length, 3)
      t.strictSame(driven.listed, driven.orders, 'every order on one page, with all digits of its id')
      const { json } = await client.get(`/v1/users/${driven.id}`)
      t.match(json, { age: 37, email_verified: true })
    })
  }
})
