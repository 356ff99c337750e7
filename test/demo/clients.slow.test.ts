// Own process: it is slow
/**
 * Clients that generators make from the demo's OpenAPI document compile as strictly as TypeScript can, and drive the demo
 * over a socket: create, conflict, update with `If-Match`, operation, and pages of ids beyond 2^53.
 */
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { runCommand } from '../package/run-command.js'
import { checkPackages, skipWithoutChecks } from '../support/checks.js'
import { until } from '../support/until.js'
import { serve } from './client.js'
import type { ClientModule } from './clients/drive.js'
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
      const { connect } = (await import(compiled)) as ClientModule
      const generated = connect(client.origin, token)
      const { id = '' } = await generated.createUser(`${name}@example.com`)
      t.ok(BigInt(id) > 2n ** 53n, id)
      t.strictSame(await generated.createUser(`${name}@example.com`), { code: 'already-exists' })
      t.strictSame(await generated.updateTwice(id), { age: 37, code: 'precondition-failed' })
      const orders: string[] = []
      for (let made = 0; made < 3; made += 1) orders.unshift(await generated.createOrder(id))
      const first = await generated.listOrders(id, undefined)
      t.strictSame([...first, ...(await generated.listOrders(id, first[1]))], orders, 'with all digits')
      const operation = await generated.verifyEmail(id)
      const over = await until(
        () => generated.stateOf(operation),
        (state) => state !== 'In progress',
      )
      t.equal(over, 'Succeeded')
    })
  }
})
