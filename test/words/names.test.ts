import fc from 'fast-check'
import t from 'tap'
import { type KeyStyle, memberName, restyledKey, wordsOf } from '../../src/words/words.js'

t.test('the words of a name, in any style', async (t) => {
  const cases: [string, string[]][] = [
    ['HTTPStatus', ['http', 'status']],
    ['userURLsOf', ['user', 'urls', 'of']],
    ['line1Text', ['line1', 'text']],
    ['straßeName', ['straße', 'name']],
    ['', []],
  ]
  for (const [name, words] of cases) t.same(wordsOf(name), words, name)
})

t.test('a key in another style has a suggestion', async (t) => {
  const cases: [KeyStyle, string, string | null][] = [
    ['snake_case', 'address_line_1', null],
    ['snake_case', '2fa_enabled', null],
    ['snake_case', 'Größe', 'größe'],
    ['snake_case', 'createdAt', 'created_at'],
    ['snake_case', 'CreatedAt', 'created_at'],
    ['snake_case', 'created__at', 'created_at'],
    ['snake_case', 'created_at_', 'created_at'],
    ['snake_case', 'USER_ID', 'user_id'],
    ['camelCase', 'createdAt', null],
    ['camelCase', 'userID', null],
    ['camelCase', 'created_at', 'createdAt'],
    ['camelCase', 'CreatedAt', 'createdAt'],
  ]
  for (const [style, name, instead] of cases) t.equal(restyledKey(name, style), instead, `${style} ${name}`)
})

t.test('keys without a style are not checked', async (t) => {
  for (const style of ['snake_case', 'camelCase'] as const) {
    for (const name of ['_links', '_Links', '$schema', '$Ref', '2024', '', '*', '2024-01-01']) {
      t.equal(restyledKey(name, style), null, `${style} ${name}`)
    }
  }
})

t.test('the member of a list is named by the last literal of its path', async (t) => {
  const cases: [path: string, style: KeyStyle, name: string][] = [
    ['/v1/users', 'camelCase', 'users'],
    ['/v1/purchase-orders', 'camelCase', 'purchaseOrders'],
    ['/v1/purchaseOrders', 'snake_case', 'purchase_orders'],
    ['/v1/users/:id/line-items/', 'camelCase', 'lineItems'],
    ['/:id', 'snake_case', 'items'],
    ['/', 'camelCase', 'items'],
  ]
  for (const [path, style, name] of cases) t.equal(memberName(path, style), name, `${style} ${path}`)
})

t.test('any path: the member has the key style', async () => {
  const segment = fc.string({ unit: fc.constantFrom(...'azAZ09-_.:ä'), maxLength: 8 })
  const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`)
  fc.assert(
    fc.property(path, fc.constantFrom<KeyStyle>('snake_case', 'camelCase'), (pattern, style) => {
      const name = memberName(pattern, style)
      return name !== '' && restyledKey(name, style) === null
    }),
  )
})
