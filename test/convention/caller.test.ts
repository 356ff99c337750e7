import t from 'tap'
import { callerIdText, scopesOf, subjectOf } from '../../src/convention/caller.js'

t.test('the id of a caller is a text, an integer, or none', async (t) => {
  for (const [id, text] of [
    ['ada', 'ada'],
    [7, '7'],
    [2n ** 63n, '9223372036854775808'],
    [null, null],
    [undefined, null],
  ] as const) {
    t.equal(callerIdText(id, 'identify'), text)
  }
  for (const id of ['', '\ud800', 1.5, Number.NaN, true, {}])
    t.throws(() => callerIdText(id, 'identify'), { name: 'TypeError', message: /^identify: / })
})

t.test('a decorator of the app with the name `caller` is no caller', async (t) => {
  for (const [caller, subject, scopes] of [
    [{ subject: 'ada', scopes: ['read'] }, 'ada', ['read']],
    [{ subject: 7, scopes: 'read' }, null, null],
    [null, null, null],
    [undefined, null, null],
  ] as const) {
    t.strictSame([subjectOf({ caller } as never), scopesOf({ caller } as never)], [subject, scopes])
  }
})
