/** Words that say what the method says: seed §4 rule 5, decisions.md §1. */
import t from 'tap'
import { areCollecting, crudMethod, crudNameOf } from '../../../src/plugins/path-guard/crud-words.js'

const reading = ['GET', 'HEAD']

t.test('the CRUD words of a name, and what is left without them', async (t) => {
  const rows: readonly (readonly [word: string, crud: string, noun: string])[] = [
    ['list', 'list', ''],
    ['get', 'get', ''],
    ['get-users', 'get', 'users'],
    ['get-all-users', 'get all', 'users'],
    ['create-new-user', 'create new', 'user'],
    ['user-list', 'list', 'user'],
    ['get-user-list', 'get list', 'user'],
    ['get-wish-list', 'get', 'wish-list'],
    ['list-all', 'list all', ''],
    ['get-list', 'get list', ''],
    ['update-profile', 'update', 'profile'],
    ['read-users', 'read', 'users'],
  ]
  for (const [word, crud, noun] of rows) {
    t.same(crudNameOf(word, false, ['PATCH']), { crud: crud.split(' '), noun }, word)
  }
})

t.test('a name of its own has none', async (t) => {
  const words =
    'users lists updates shows new-users wish-list price-lists to-do-list get-togethers add-ons read-receipts'
  for (const word of words.split(' ')) t.equal(crudNameOf(word, false, reading), null, word)
})

t.test('what has items, or is read though the word writes, is described by the word', async (t) => {
  const rows: readonly (readonly [word: string, itemFollows: boolean, methods: string[], isNoun: boolean])[] =
    [
      ['update-channels', true, ['PUT'], true],
      ['update-channels', false, ['GET', 'HEAD', 'OPTIONS'], true],
      ['update-channels', false, ['POST'], false],
      ['update-channel', true, ['PUT'], false],
      ['delete-requests', false, ['POST'], true],
      ['delete-request', true, ['GET'], true],
      ['edit-history', false, ['GET'], true],
      ['list-items', true, reading, true],
      ['list-items', false, reading, true],
      ['list-users', true, reading, true],
      ['list-users', false, reading, false],
      ['get-users', true, reading, false],
      ['find-users', true, reading, false],
      ['update-inventory', true, ['PUT'], false],
      ['users-list', true, reading, false],
    ]
  for (const [word, itemFollows, methods, isNoun] of rows) {
    t.equal(
      crudNameOf(word, itemFollows, methods) === null,
      isNoun,
      `${methods.join()} ${word} ${itemFollows}`,
    )
  }
})

t.test('the method that the words ask for, where the route has another one', async (t) => {
  const rows: readonly (readonly [crud: string, methods: string, method: string | null])[] = [
    ['delete', 'POST', 'DELETE'],
    ['delete', 'DELETE', null],
    ['delete', 'DELETE,OPTIONS', null],
    ['delete', 'GET,DELETE', 'DELETE'],
    ['remove', 'GET', 'DELETE'],
    ['update', 'POST', 'PATCH'],
    ['update', 'PUT', null],
    ['create', 'GET', 'POST'],
    ['create', 'PUT', null],
    ['list', 'POST', 'GET'],
    ['list', 'GET,HEAD', null],
    ['new', 'GET', null],
    ['edit', 'GET', null],
    ['edit', 'POST', 'PATCH'],
    ['all', 'DELETE', null],
    ['delete all', 'POST', 'DELETE'],
    ['get delete', 'GET', 'DELETE'],
    ['', 'GET', null],
  ]
  for (const [crud, methods, method] of rows) {
    t.equal(crudMethod(crud.split(' '), methods.split(',')), method, `${methods} ${crud}`)
  }
})

t.test('words about many, or about a new one of many, stand with a collection', async (t) => {
  for (const word of ['list', 'all', 'create', 'new', 'add', 'find']) t.ok(areCollecting([word]), word)
  for (const word of ['get', 'update', 'delete', 'edit', 'show']) t.notOk(areCollecting([word]), word)
})
