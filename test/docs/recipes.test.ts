/** docs/recipes.md: each recipe, in an app with the preset, does what the page says. */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { bigint, pgTable, timestamp } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pglite'
import Fastify, { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify'
import type { ConventionsOptions } from 'fastify-conventions'
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import t, { type Test } from 'tap'
import { blocksOf } from './markdown.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(join(root, 'docs', 'recipes.md'), 'utf8')
const recipes = page.split(/^## /m).slice(1)

type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body'>

/** What a recipe needs from its app, and what is checked. */
interface Check {
  readonly options?: ConventionsOptions
  readonly tables?: string
  /** Further names that the blocks use. */
  readonly names?: (db: PGlite) => Readonly<Record<string, unknown>>
  run(stage: {
    readonly t: Test
    readonly app: FastifyInstance
    send(method: 'GET' | 'POST' | 'PATCH', url: string, rest?: InjectOptions): Promise<Answer>
  }): Promise<void>
}

// It takes seconds to start.
const db = new PGlite()
const books = pgTable('books', {
  id: bigint({ mode: 'bigint' }),
  created_at: timestamp({ withTimezone: true, precision: 3 }),
})
const away = createServer()
await new Promise<void>((resolve) => away.listen(0, '127.0.0.1', resolve))
const closedPort = (away.address() as AddressInfo).port
away.close()

const checks: Readonly<Record<string, Check>> = {
  'A health check': {
    options: { rateLimit: { max: 1 } },
    async run({ t, app, send }) {
      await app.maintenance.enable()
      for (const _ of [1, 2, 3])
        t.match(await send('GET', '/health'), { statusCode: 200, body: '{"ok":true}' })
      t.match(await send('GET', '/v1/other'), { statusCode: 503 })
    },
  },
  '409 from a constraint': {
    tables: 'create table users (id int generated always as identity, email text unique not null)',
    async run({ t, send }) {
      const create = (email: string | null) => send('POST', '/v1/users', { payload: { email } })
      t.match(await create('a@b.de'), { statusCode: 201, headers: { location: '/v1/users/1' } })
      const refused = { statusCode: 409, body: /"code":"already-exists".*"pointer":"\/email"/ }
      t.match(await create('a@b.de'), refused)
      t.match(await create(null), { statusCode: 500 }, 'any other error stays one')
    },
  },
  'Columns by the selected fields': {
    tables: `create table people (id bigint, name text, email text); insert into people values (7, 'Ada', 'a@b.de')`,
    async run({ t, send }) {
      t.match(await send('GET', '/v1/people/7?fields=name'), { statusCode: 200, body: '{"name":"Ada"}' })
      t.match(await send('GET', '/v1/people/7'), { body: '"email":"a@b.de"' })
      t.match(await send('GET', '/v1/people/8'), { statusCode: 404 })
    },
  },
  'Pages by a query builder': {
    tables: `
      create table books (id bigint, created_at timestamptz(3));
      insert into books select id, timestamptz '2026-01-01Z' + (id / 3) * interval '1 hour' from generate_series(1, 7) id`,
    names: (db) => ({ kysely: kyselyOf(db), drizzle: drizzle(db), books }),
    async run({ t, send }) {
      const newestFirst = [7, 6, 5, 4, 3, 2, 1]
      t.strictSame(await idsFrom('/v1/books?limit=2'), newestFirst, 'by id')
      t.strictSame(await idsFrom('/v1/books?limit=2&after_id=0'), newestFirst.toReversed(), 'back, by id')
      const byTime = await idsFrom('/v1/books?limit=2&before_time=2026-01-02T00:00:00Z')
      t.strictSame(byTime, newestFirst, 'by time, of which each stands at most thrice')
      t.strictSame(await idsFrom('/v1/books?before_time=2026-01-01T01:00:00Z'), [2, 1])

      async function idsFrom(first: string): Promise<number[]> {
        const ids: number[] = []
        for (let url: string | undefined = first; url !== undefined; ) {
          const { body, headers } = await send('GET', url)
          ids.push(...[...body.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)))
          url = /^<([^>]+)>/.exec(String(headers.link))?.[1]
        }
        return ids
      }
    },
  },
  'ULIDs, and other ids that are text': {
    tables: `create table notes (id text); insert into notes values ('01ARZ3'), ('01BX5Z')`,
    async run({ t, send }) {
      t.match(await send('GET', '/v1/notes/01ARZ3'), { statusCode: 200 })
      t.match(await send('GET', '/v1/Notes/01ARZ3'), { statusCode: 404 }, 'the rest has one spelling')
      const first = await send('GET', '/v1/notes?limit=1')
      t.match(first, { body: '{"notes":[{"id":"01BX5Z"}]}', headers: { link: /before_id=01BX5Z>/ } })
      const forward = await send('GET', '/v1/notes?limit=1&after_id=01ARZ3')
      t.match(forward, { statusCode: 200, body: '{"notes":[{"id":"01BX5Z"}]}' })
      t.match(await send('GET', '/v1/notes?after_id=01BX5Z'), { statusCode: 200, body: '{"notes":[]}' })
    },
  },
  'The tag of a `PATCH`': {
    tables: `create table documents (id int, text text, version int); insert into documents values (1, 'a', 1)`,
    async run({ t, send }) {
      const payload = { text: 'b' }
      const patch = (tag?: string) =>
        send('PATCH', '/v1/documents/1', { payload, headers: { ...(tag && { 'if-match': tag }) } })
      t.match(await patch(), { statusCode: 200, headers: { etag: '"2"' } })
      t.match(await patch('"2"'), { statusCode: 200, headers: { etag: '"3"' } })
      t.match(await patch('"2"'), { statusCode: 412 })
    },
  },
  'A download that has to be made first': {
    options: { operations: { identify: () => null } },
    async run({ t, app, send }) {
      const answers = await Promise.all([send('GET', '/v1/exports/7'), send('GET', '/v1/exports/7')])
      for (const answer of answers) t.match(answer, { statusCode: 202, headers: { 'retry-after': /^\d+$/ } })
      for (let answer = answers[0]; answer.statusCode === 202; ) {
        await new Promise(setImmediate)
        answer = await send('GET', '/v1/exports/7')
      }
      const headers = { 'content-type': /^text\/csv/ }
      t.match(await send('GET', '/v1/exports/7'), { statusCode: 200, body: 'tea,2', headers })
      await app.close()
    },
  },
  'An upstream service that fails': {
    names: () => ({ ratesUrl: `http://127.0.0.1:${closedPort}` }),
    async run({ t, send }) {
      const answer = await send('GET', '/v1/rates')
      const headers = { 'retry-after': '10' }
      t.match(answer, { statusCode: 503, headers, body: '"code":"rates-unavailable"' })
      t.notMatch(answer.body, /ECONNREFUSED|127\.0\.0\.1/)
    },
  },
  'A quota for logins': {
    async run({ t, send }) {
      const logIn = (password: string) => send('POST', '/v1/login', { payload: { password } })
      for (const _ of [1, 2, 3, 4, 5]) t.match(await logIn('wrong'), { statusCode: 401 })
      t.match(await logIn('correct horse'), { statusCode: 429 })
    },
  },
  'Tests without a quota, and with a clock': {
    async run({ t }) {
      const ofStatus = (status: number) => seen.find(({ statusCode }) => statusCode === status)
      t.match(ofStatus(200), { headers: { deprecation: /^@\d+$/, sunset: /2026/ } })
      t.match(ofStatus(410), { body: '"code":"version-retired"' })
    },
  },
}

/** The responses of the block that builds an app of its own, by their status. */
const seen: Answer[] = []

t.test('each recipe has a check', async (t) => {
  t.strictSame(recipes.map(titleOf), Object.keys(checks))
})

for (const recipe of recipes) {
  const title = titleOf(recipe)
  const check = checks[title]
  if (check === undefined) continue
  const blocks = blocksOf(recipe).filter(({ language }) => language === 'js')
  for (const { text } of blocks) {
    t.test(blocks.length === 1 ? title : `${title}: ${text.split('\n', 1)}`, async (t) => {
      const names = check.names?.(db) ?? {}
      const folder = t.testdir({ 'recipe.mjs': moduleOf(text, Object.keys(names)) })
      const { conventions, serverOptions } = await import('fastify-conventions')
      await db.exec(`drop schema public cascade; create schema public; ${check.tables ?? ''}`)
      const app = Fastify(serverOptions())
      t.teardown(() => app.close())
      await app.register(conventions, check.options ?? {})
      const { default: cook } = await import(pathToFileURL(join(folder, 'recipe.mjs')).href)
      await cook(app, db, names, (answer: Answer) => seen.push(answer))
      await check.run({ t, app, send: (method, url, rest) => app.inject({ method, url, ...rest }) })
    })
  }
}

function titleOf(recipe: string): string {
  return recipe.slice(0, recipe.indexOf('\n'))
}

/** The block as a function of what the page says that it uses; responses to its own requests are noted. */
function moduleOf(block: string, names: readonly string[]): string {
  const [, imports, body = ''] = /^((?:import .*\n)*)([\s\S]*)$/.exec(block) ?? []
  const noted = body.replace(/^(await testApp\.inject\([^)]*\))/gm, 'note($1)')
  return `${imports}export default async function (app, db, { ${names.join(', ')} }, note) {\n${noted}\n}`
}

function kyselyOf(db: PGlite): Kysely<{ books: { id: bigint; created_at: Date } }> {
  const connection = { query: (text: string, values: unknown[]) => db.query(text, values), release() {} }
  const pool = { connect: async () => connection, async end() {} } as unknown as PostgresPool
  return new Kysely({ dialect: new PostgresDialect({ pool }) })
}
