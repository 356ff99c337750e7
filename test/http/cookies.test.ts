import t from 'tap'
import { cookieValues, readSetCookie } from '../../src/http/header-fields.js'

t.test('the values of a cookie, in order, without the empty ones', (t) => {
  const rows: readonly (readonly [header: string, values: readonly string[]])[] = [
    ['', []],
    ['a=1; session=b; c=3', ['b']],
    ['session=a; session=b', ['a', 'b']],
    [' session = a ;session=b', ['a', 'b']],
    ['session=a=b==', ['a=b==']],
    ['xsession=a; session2=b; Session=c', []],
    ['session="a b"', ['"a b"']],
  ]
  for (const [header, values] of rows) t.strictSame(cookieValues(header, 'session'), values, header)
  t.end()
})

t.test('Set-Cookie: a name and a value, empty if the cookie is removed', (t) => {
  const rows: readonly (readonly [header: string, read: unknown])[] = [
    ['session=a; Path=/; HttpOnly', { name: 'session', value: 'a' }],
    [' session = a=b ;Max-Age=10', { name: 'session', value: 'a=b' }],
    ['session=a; Path=/;max-age=0', { name: 'session', value: '' }],
    ['session=a; Max-Age = -10', { name: 'session', value: '' }],
    ['session=a; x-Max-Age=0', { name: 'session', value: 'a' }],
    ['session=a; Max-Age=01', { name: 'session', value: 'a' }],
    ['session', null],
    ['=a', null],
    ['', null],
  ]
  for (const [header, read] of rows) t.strictSame(readSetCookie(header), read, header)
  t.end()
})
