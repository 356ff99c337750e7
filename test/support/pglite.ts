/**
 * Stands in for @electric-sql/pglite in the bundles of the tests: a new database is loaded from an image of an empty one, which
 * takes a fifth of the time. `scripts/test.mjs` puts it there.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite as Database, type PGliteOptions } from '@electric-sql/pglite'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = readFileSync(join(root, 'node_modules/@electric-sql/pglite/package.json'), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }
const folder = join(root, '.cache')
const image = join(folder, `pglite-${version}.tar`)

export class PGlite extends Database {
  constructor(options?: PGliteOptions) {
    super(withImage(options))
  }

  static override readonly create = (async (options?: PGliteOptions) => {
    if (!existsSync(image)) await makeImage()
    return Database.create(withImage(options))
  }) as typeof Database.create
}

async function makeImage(): Promise<void> {
  const empty = await Database.create()
  // The image is recovered at each start, and the timer of that would keep the process alive.
  await empty.query('alter system set log_startup_progress_interval = 0')
  const bytes = Buffer.from(await (await empty.dumpDataDir('none')).arrayBuffer())
  await empty.close()
  mkdirSync(folder, { recursive: true })
  // Another process may make it, too.
  const own = `${image}.${process.pid}`
  writeFileSync(own, bytes)
  renameSync(own, image)
}

function withImage(options: PGliteOptions = {}): PGliteOptions {
  const isThere = options.dataDir !== undefined && existsSync(join(options.dataDir, 'PG_VERSION'))
  if (isThere || !existsSync(image)) return options
  return { ...options, loadDataDir: new Blob([readFileSync(image)]) }
}
