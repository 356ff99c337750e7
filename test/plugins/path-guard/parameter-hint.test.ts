/** A word in the place of a parameter is told for what it is: a CRUD word, or an alias of the caller. */
import t from 'tap'
import { parameterHint } from '../../../src/plugins/path-guard/parameter-hint.js'
import { superlinearSeeds } from '../../support/growth.js'

const aliases = new Set(['me', 'self'])
const hint = (path: string, pattern = '/v1/users/:id', name = 'id') =>
  parameterHint(path, pattern, name, aliases)

t.test('a CRUD word says what the method says, and where', async (t) => {
  const table: readonly (readonly [word: string, instead: string])[] = [
    ['list', 'GET /v1/users'],
    ['all', 'GET /v1/users'],
    ['find', 'GET /v1/users'],
    ['create', 'POST /v1/users'],
    ['new', 'POST /v1/users'],
    ['add', 'POST /v1/users'],
    ['get', 'GET /v1/users/{id}'],
    ['delete', 'DELETE /v1/users/{id}'],
    ['update', 'PATCH /v1/users/{id}'],
  ]
  for (const [word, instead] of table) {
    t.equal(hint(`/v1/users/${word}`), `'${word}' says what the method says: ${instead}`)
  }
  t.equal(
    hint('/v1/users/7/orders/list', '/v1/users/:userId/orders/:id(^\\d+$)'),
    "'list' says what the method says: GET /v1/users/7/orders",
  )
})

t.test('an alias says that it stands for the caller elsewhere', async (t) => {
  for (const word of ['me', 'self']) {
    t.equal(
      hint(`/v1/orders/${word}`, '/v1/orders/:id'),
      `'${word}' stands for the caller in some routes, and not in /v1/orders`,
    )
  }
})

t.test('other words say nothing', async (t) => {
  for (const path of ['/v1/users/7', '/v1/users/ada', '/v1/users/', '/v1/users', '/v1/users/wish-list']) {
    t.equal(hint(path), null, path)
  }
  t.equal(hint('/v1/users/list', '/v1/users/:id', 'other'), null)
  t.equal(hint('/v1/users/list', '/v1/users/*', '*'), null)
})

t.test('the time is linear in the path, and the hint is short', async (t) => {
  t.strictSame(
    await superlinearSeeds(['/', '/a', 'list-', '-', '%41'], (text) => hint(`/v1/users/${text}`)),
    [],
  )
  t.ok((hint(`/${'a'.repeat(5000)}/list`, '/:a/:id') ?? '').length < 300)
})
