import fc from 'fast-check'
import pluralize from 'pluralize'
import t from 'tap'
import * as words from '../../src/words/words.js'
import { forAll, inRuns } from '../support/property.js'

t.test('the words of a name, in any style', async (t) => {
  const found = ['HTTPStatus', 'userURLsOf', 'line1Text', 'straßeName', ''].map((name) =>
    words.wordsOf(name).join(),
  )
  t.same(found, ['http,status', 'user,urls,of', 'line1,text', 'straße,name', ''])
})

t.test('a key in another style has a suggestion', async (t) => {
  const rows = {
    snake_case:
      'address_line_1 2fa_enabled Größe=größe createdAt=created_at created__at=created_at USER_ID=user_id',
    camelCase: 'createdAt userID created_at=createdAt CreatedAt=createdAt',
  }
  for (const [style, keys] of Object.entries(rows))
    for (const key of keys.split(' ')) {
      const [name = '', instead = null] = key.split('=')
      t.equal(words.restyledKey(name, style as words.KeyStyle), instead, `${style} ${name}`)
    }
})

t.test('keys without a style are not checked', async (t) => {
  for (const style of ['snake_case', 'camelCase'] as const)
    for (const name of ['_Links', '$Ref', '2024', '', '*', '2024-01-01'])
      t.equal(words.restyledKey(name, style), null, `${style} ${name}`)
})

t.test('the member of a list is named by the last literal of its path', async (t) => {
  for (const [path, style, name] of [
    ['/v1/purchase-orders', 'camelCase', 'purchaseOrders'],
    ['/v1/purchaseOrders', 'snake_case', 'purchase_orders'],
    ['/v1/users/:id/line-items/', 'camelCase', 'lineItems'],
    ['/:id', 'snake_case', 'items'],
    ['/', 'camelCase', 'items'],
  ] as const)
    t.equal(words.memberName(path, style), name, `${style} ${path}`)
})

t.test('any path: the member has the key style', async () => {
  const segment = fc.string({ unit: fc.constantFrom(...'azAZ09-_.:ä'), maxLength: 8 })
  const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`)
  forAll(path, fc.constantFrom<words.KeyStyle>('snake_case', 'camelCase'), (pattern, style) => {
    const name = words.memberName(pattern, style)
    return name !== '' && words.restyledKey(name, style) === null
  })
})

/** Singular and plural, regular and not. */
const pairs = (
  'user users, order orders, address addresses, category categories, key keys, box boxes, quiz quizzes, ' +
  'person people, child children, foot feet, mouse mice, analysis analyses, criterion criteria, life lives, ' +
  'status statuses, bonus bonuses, campus campuses, alias aliases, business businesses, process processes, ' +
  'virus viruses, antivirus antiviruses, lens lenses, canvas canvases, bias biases, iris irises, gas gases, ' +
  'schema schemas, index indexes, matrix matrices, axis axes, photo photos, hero heroes, radius radii, ' +
  'cpu cpus, gpu gpus, sku skus, guru gurus, menu menus, uri uris, taxi taxis, safari safaris, mahatma mahatmas, ' +
  'omega omegas, specimen specimens, german germans, woman women, movie movies, proxy proxies, api apis, ' +
  'emoji emojis, datum data, zebu zebuses'
)
  .split(', ')
  .map((pair) => pair.split(' '))

const massNouns = (
  'feedback money inventory history content storage knowledge access information equipment news series staff ' +
  'metadata media health software'
).split(' ')

/** Plurals that are right beside the one that is written. */
const otherPlurals = ['indices', 'schemata', 'viri', 'quora', 'monies', 'stigmata']

const numberOf = (word: string) => [words.isPlural(word), words.isCountedPlural(word), words.plural(word)]

t.test('singular and plural', async (t) => {
  for (const [one = '', many = ''] of pairs) {
    t.strictSame(numberOf(one), [false, false, many], one)
    t.strictSame(numberOf(many), [true, true, many], many)
  }
  for (const word of otherPlurals) t.ok(words.isPlural(word), word)
  t.equal(words.singular('orders'), 'order')
})

t.test('a word without a plural counts as plural, but is not the plural of another word', async (t) => {
  for (const word of massNouns) {
    t.strictSame(numberOf(word), [true, false, word], word)
  }
})

t.test('the plural of any word is a plural, and its own plural', async () => {
  const letters = fc.stringMatching(/^[a-z]{1,9}$/)
  const ending = fc.constantFrom(...' us is ris gas bu pu ga ri tla vir man x f'.split(' '))
  inRuns(500, letters, ending, (start, end) => {
    const many = words.plural(start + end)
    return words.isPlural(many) && words.plural(many) === many
  })
})

t.test('the library pluralize is not changed, because the process shares it', async (t) => {
  t.equal(pluralize.plural('virus'), 'viri')
  t.equal(pluralize.plural('feedback'), 'feedbacks')
})
