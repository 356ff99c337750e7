import type { PostgresPoolClient } from 'kysely'
import t from 'tap'
import { type Database, databaseOf } from '../../examples/demo-server/database.js'
import { serve } from './client.js'
import { emptyDatabase } from './databases.js'
import { newUser } from './samples.js'

const withoutRows = databaseThat(() => undefined)

t.test('the conventions of the package hold in the demo', async (t) => {
  const client = await serve(t, withoutRows)
  const refusals = [
    ['GET', '/v1/Users', 404, 'path-uppercase'],
    ['GET', '/v1/user', 404, 'not-found'],
    ['DELETE', '/v1/users', 405, 'method-not-allowed'],
    ['GET', '/v1/users/%zz', 400, 'uri-malformed'],
  ] as const

  for (const [method, target, status, code] of refusals) {
    await t.test(`${method} ${target}: ${status} ${code}, whatever the client accepts`, async (t) => {
      const answer = await client.call(method, target, { headers: { accept: 'text/html' } })
      t.match(answer, { status, json: { code } })
      t.equal(answer.headers.get('content-type'), 'application/problem+json')
    })
  }

  await t.test('responses to a 405 and to OPTIONS have Allow', async (t) => {
    t.equal((await client.delete('/v1/users')).headers.get('allow'), 'GET, HEAD, OPTIONS, POST')
    const options = await client.call('OPTIONS', '/v1/users')
    t.equal(options.status, 204)
    t.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS, POST')
  })

  await t.test('GET / is the playground, for everybody', async (t) => {
    const answer = await client.anonymous.get('/')
    t.match(answer, { status: 200, text: '<title>Playground' })
    t.match(answer.headers.get('content-security-policy'), "default-src 'self'")
    const turned = await client.anonymous.call('POST', '/playground/maintenance')
    t.equal(turned.status, 405, 'with another issuer than its own, the demo lets no visitor turn it off')
  })

  await t.test('a request that does not accept JSON is a 406', async (t) => {
    const answer = await client.call('GET', '/v1/users', { headers: { accept: 'text/html' } })
    t.match(answer, { status: 406, json: { code: 'not-acceptable' } })
  })
})

t.test('a form can update and replace; the schema converts its values', async (t) => {
  const database = await emptyDatabase(t)
  const client = await serve(t, database)
  const user = await newUser(client)
  const path = `/v1/users/${user.id}`
  const submit = (body: string) =>
    client.call('POST', path, { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })

  t.match(await submit('_method=PATCH&age=31'), {
    status: 200,
    json: { ...user, age: 31, updated_at: String },
  })
  const whole = new URLSearchParams({ _method: 'PUT', name: 'Grace', age: '85', email: String(user.email) })
  t.match(await submit(String(whole)), { status: 200, json: { name: 'Grace', age: 85, gender: null } })
  for (const body of ['_method=PATCH&age=old', '_method=PATCH&age=-1', '_method=PATCH&nickname=ada']) {
    t.match(await submit(body), { status: 400, json: { code: 'validation' } }, body)
  }
  t.match(await submit('_method=DELETE'), { status: 204 })
})

t.test('an error of the database is a problem without details', async (t) => {
  const failing = databaseThat((text) => {
    if (text.includes('from "users"')) throw new Error('password authentication failed for user "shop"')
  })
  const client = await serve(t, failing)
  const answer = await client.get('/v1/users')
  t.match(answer, { status: 500, json: { code: 'internal-server-error' } })
  t.notMatch(answer.text, 'password')
})

/** A database without rows, which calls a function with each statement. */
function databaseThat(look: (text: string) => void): Database {
  const client = {
    async query(text: string) {
      look(text)
      return { command: 'SELECT', rowCount: 0, rows: [] }
    },
    release() {},
  }
  return databaseOf({ connect: async () => client as unknown as PostgresPoolClient, end: async () => {} })
}
