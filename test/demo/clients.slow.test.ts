// Own process: it is slow
/**
 * A client that a generator makes from the demo's OpenAPI document compiles as strictly as TypeScript can, and drives the demo
 * over a socket. (That of openapi-typescript and openapi-fetch is in the tutorial.)
 */
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { checkPackages, skipWithoutChecks } from '../support/checks.js'
import { runCommand } from '../support/child.js'
import { serve } from './client.js'
import { emptyEmbeddedDatabase } from './databases.js'
import { adminToken } from './issuer.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, '.cache/clients')

const compilerOptions = {
  target: 'ES2022',
  lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  module: 'NodeNext',
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  strict: true,
  noUncheckedIndexedAccess: true,
  rootDir: '.',
  outDir: 'compiled',
}

t.test('the client of @hey-api/openapi-ts', { skip: skipWithoutChecks() }, async (t) => {
  const client = await serve(t, await emptyEmbeddedDatabase())
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await cp(join(root, 'test/demo/clients'), folder, { recursive: true })
  await writeFile(join(folder, 'openapi.json'), (await client.anonymous.get('/openapi.json')).text)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await symlink(checkPackages, join(folder, 'node_modules'))
  const generate = ['-i', 'openapi.json', '-o', 'hey-api', '--no-log-file']
  await runCommand(join(checkPackages, '.bin', 'openapi-ts'), generate, folder)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['hey-api.ts'] }))
  await runCommand(join(root, 'node_modules/.bin/tsc'), [], folder)

  const { drive } = await import(pathToFileURL(join(folder, 'compiled/hey-api.js')).href)
  const driven: { id: string; made: string[] } = await drive(client.origin, await adminToken())
  t.ok(BigInt(driven.id) > 2n ** 53n, driven.id)
  const codes = ['already-exists', 'precondition-failed']
  t.match(driven, { age: 37, codes, read: driven.made, end: 'Succeeded' }, 'with all digits')
  t.equal(driven.made.length, 3)
})
