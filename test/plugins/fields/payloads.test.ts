/** "Projection … can only narrow what the schema allows, and never mutates the handler's object." */
import t from 'tap'
import { array, bodyOf, int64, object, oneRoute, text } from './one-route.js'

const user = object({ id: int64, name: text, address: object({ city: text, zip: text }), tags: array(text) })
const plain = { id: 1, name: 'Ada', address: { city: 'London', zip: 'W1' }, tags: ['a'], password: 'secret' }
const everyField = '{"id":1,"id_str":"1","name":"Ada","address":{"city":"London","zip":"W1"},"tags":["a"]}'

t.test('one object serves different selections at the same time, and is not changed', async (t) => {
  const rows = [
    ['?fields=name', '{"name":"Ada"}'],
    ['?fields=address.city,tags', '{"address":{"city":"London"},"tags":["a"]}'],
    ['?fields=id', '{"id":1,"id_str":"1"}'],
    ['', everyField],
    ['?fields=*', everyField],
    ['?fields=nope', /fields-invalid/],
  ] as const
  for (const value of [structuredClone(plain), deepFrozen(structuredClone(plain))]) {
    const app = await oneRoute({ response: { 200: user } }, value)
    const requests = Array.from({ length: 10 }, () => rows).flat()
    const answers = await Promise.all(requests.map(([query]) => app.inject(`/v1/users/1${query}`)))
    for (const [index, { payload }] of answers.entries()) {
      const [query = '', body = ''] = requests[index] ?? []
      if (typeof body === 'string') t.equal(payload, body, query)
      else t.match(payload, body, query)
    }
    t.strictSame(value, plain)
  }
})

t.test('classes: declared members may be getters, other state is not sent', async (t) => {
  class User {
    readonly #name = 'Ada'
    readonly password = 'secret'
    get name(): string {
      return this.#name
    }
    get address(): object {
      return { city: 'London', zip: 'W1' }
    }
    tags(): string[] {
      return []
    }
  }
  const schema = object({ id: int64, name: text, address: object({ city: text, zip: text }) })
  const body = await bodyOf('?fields=name,address.city', schema, new User())
  t.equal(body, '{"name":"Ada","address":{"city":"London"}}')
  for (const name of ['password', 'constructor'])
    t.match(await bodyOf(`?fields=${name}`, schema, new User()), 'fields-invalid')
})

t.test('toJSON is called first', async (t) => {
  const value = { toJSON: () => plain, name: 'not this one' }
  t.equal(await bodyOf('?fields=name', user, value), '{"name":"Ada"}')
})

function deepFrozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFrozen(part)
  return Object.freeze(value)
}
