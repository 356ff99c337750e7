import fc from 'fast-check'
import pluralize from 'pluralize'
import t from 'tap'
import { isCountedPlural, isPlural, plural, singular } from '../../src/words/words.js'

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

t.test('singular and plural', async (t) => {
  for (const [one = '', many = ''] of pairs) {
    t.notOk(isPlural(one), `${one} is none`)
    t.notOk(isCountedPlural(one), `${one} is not a plural of another word`)
    t.equal(plural(one), many, one)
    t.ok(isPlural(many), `${many} is one`)
    t.ok(isCountedPlural(many), `${many} is the plural of another word`)
    t.equal(plural(many), many, `${many} stays`)
  }
  for (const word of otherPlurals) t.ok(isPlural(word), word)
  t.equal(singular('orders'), 'order')
})

t.test('a word without a plural counts as plural, but is not the plural of another word', async (t) => {
  for (const word of massNouns) {
    t.ok(isPlural(word), word)
    t.equal(plural(word), word)
    t.notOk(isCountedPlural(word), word)
  }
})

t.test('the plural of any word is a plural, and its own plural', async () => {
  const letters = fc.stringMatching(/^[a-z]{1,9}$/)
  const ending = fc.constantFrom(...' us is ris gas bu pu ga ri tla vir man x f'.split(' '))
  fc.assert(
    fc.property(letters, ending, (start, end) => {
      const many = plural(start + end)
      return isPlural(many) && plural(many) === many
    }),
    { numRuns: 500 },
  )
})

t.test('the library pluralize is not changed, because the process shares it', async (t) => {
  t.equal(pluralize.plural('virus'), 'viri')
  t.equal(pluralize.plural('feedback'), 'feedbacks')
})
