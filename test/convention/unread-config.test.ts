import t from 'tap'
import { isMisspelt } from '../../src/convention/unread-config.js'

t.test('one or two letters make a misspelt name; in a short name one', async (t) => {
  const cases: [text: string, name: string, is: boolean][] = [
    ['idempotancy', 'idempotency', true],
    ['idempotncey', 'idempotency', true],
    ['Idempotency', 'idempotency', true],
    ['rate-limit', 'rateLimit', true],
    ['ratelimits', 'rateLimit', true],
    ['rateLimit', 'rateLimit', false],
    ['limit', 'rateLimit', false],
    ['list', 'lists', true],
    ['lsits', 'lists', true],
    ['listing', 'lists', false],
    ['lsitz', 'lists', false],
    ['core', 'cors', true],
    ['cost', 'cors', false],
    ['xcrs', 'cors', false],
    ['oxrs', 'cors', false],
    ['', 'xsrf', false],
  ]
  for (const [text, name, is] of cases) t.equal(isMisspelt(text, name), is, `${text}, ${name}`)
})
