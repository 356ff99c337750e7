/** The letters of a path: seed §4 rules 1, 2 and 4, RFC 3986 §3.3. */
import fc from 'fast-check'
import t from 'tap'
import {
  hasUppercase,
  hyphenated,
  innerHyphens,
  innerPlainText,
  kebab,
  lowercase,
  needsEncoding,
  plainText,
} from '../../../src/plugins/path-guard/path-text.js'

type Row = readonly [text: string, mended: string]

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom(...'aZ_-%4Fé日 ~.') }),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }),
)

t.test('lowercase: words of camelCase are joined by hyphens, escapes stay', async (t) => {
  const rows: readonly Row[] = [
    ['users', 'users'],
    ['Users', 'users'],
    ['USERS', 'users'],
    ['purchaseOrders', 'purchase-orders'],
    ['APIKeys', 'api-keys'],
    ['oauth2Tokens', 'oauth2-tokens'],
    ['Purchase_Order', 'purchase_order'],
    ['V1', 'v1'],
    ['caf%C3%A9Bar', 'caf%C3%A9bar'],
    ['A%zzB%', 'a%zz-b%'],
  ]
  for (const [text, mended] of rows) t.equal(lowercase(text), mended, text)
})

t.test('hyphens for underscores; none at the ends but where a parameter stands there', async (t) => {
  const rows: readonly (readonly [text: string, whole: string, inner: string])[] = [
    ['order_items', 'order-items', 'order-items'],
    ['_users', 'users', '-users'],
    ['users__', 'users', 'users-'],
    ['user_-_profiles', 'user-profiles', 'user-profiles'],
    ['___', '', '-'],
    ['-users-', '-users-', '-users-'],
    ['a--b', 'a--b', 'a--b'],
  ]
  for (const [text, whole, inner] of rows) {
    t.equal(hyphenated(text), whole, text)
    t.equal(innerHyphens(text), inner, `${text} beside a parameter`)
  }
})

t.test('plain text: accents go, other characters part words, other scripts are not guessed', async (t) => {
  const rows: readonly (readonly [text: string, whole: string, inner: string])[] = [
    ['purchase orders', 'purchase-orders', 'purchase-orders'],
    ['purchase%20orders', 'purchase-orders', 'purchase-orders'],
    ['cafés', 'cafes', 'cafes'],
    ['caf%C3%A9s', 'cafes', 'cafes'],
    ['caf%E9s', 'caf-s', 'caf-s'],
    ['Straße', 'Strasse', 'Strasse'],
    ['Œuvres', 'Oeuvres', 'Oeuvres'],
    ['user’s', 'users', 'users'],
    ['orders[]', 'orders', 'orders-'],
    ['a%2Fb', 'a-b', 'a-b'],
    ['日本', 'items', '-'],
    ['日本-orders', 'orders', '--orders'],
    ['%20', '', '-'],
    ['%zz', 'zz', '-zz'],
  ]
  for (const [text, whole, inner] of rows) {
    t.equal(plainText(text), whole, text)
    t.equal(innerPlainText(text), inner, `${text} beside a parameter`)
  }
})

t.test('kebab-case: the words, however they are written', async (t) => {
  for (const text of [
    'purchase-orders',
    'purchase_orders',
    'PurchaseOrders',
    'purchase%20orders',
    '_purchase Orders',
  ]) {
    t.equal(kebab(text), 'purchase-orders', text)
  }
})

t.test('what is mended is right, stays as it is, and any text can be', async () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const plain = plainText(text)
      const lower = lowercase(plain)
      const joined = hyphenated(lower)
      return (
        !needsEncoding(plain) &&
        !needsEncoding(innerPlainText(text)) &&
        !hasUppercase(lowercase(text)) &&
        !hyphenated(text).includes('_') &&
        !innerHyphens(text).includes('_') &&
        !/[A-Z_]/.test(joined) &&
        plainText(plain) === plain &&
        lowercase(lower) === lower &&
        kebab(joined) === joined
      )
    }),
    { numRuns: 500 },
  )
})
