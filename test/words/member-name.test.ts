/** A list is `{ "<collection>": [...] }`, in the style of the API's keys. */
import fc from 'fast-check'
import t from 'tap'
import { type KeyStyle, memberName, restyledKey } from '../../src/words/words.js'

t.test('the member of a list is named by the last literal of its path', async (t) => {
  const cases: [path: string, style: KeyStyle, name: string][] = [
    ['/v1/users', 'snake_case', 'users'],
    ['/v1/users', 'camelCase', 'users'],
    ['/v1/purchase-orders', 'snake_case', 'purchase_orders'],
    ['/v1/purchase-orders', 'camelCase', 'purchaseOrders'],
    ['/v1/purchase_orders', 'camelCase', 'purchaseOrders'],
    ['/v1/purchaseOrders', 'snake_case', 'purchase_orders'],
    ['/v1/purchaseOrders', 'camelCase', 'purchaseOrders'],
    ['/v1/users/:id/line-items/', 'camelCase', 'lineItems'],
    ['/v1/users/:id', 'snake_case', 'users'],
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
