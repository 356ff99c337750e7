/** RFC 9110 §5.6.1 (lists), §5.6.4 (quoted strings), §5.6.6 (parameters). */
import t from 'tap'
import { directiveName, listMembers, memberParts, quoted } from '../../src/http/header-fields.js'
import { superlinearSeeds } from '../support/growth.js'

t.test('a list is split at commas, but not in quoted strings', async (t) => {
  const rows: readonly (readonly [fieldValue: string, members: readonly string[]])[] = [
    ['', []],
    [' , ,', []],
    [' a ,b,, c ', ['a', 'b', 'c']],
    ['a="b, c", d', ['a="b, c"', 'd']],
    ['a="b\\", c", d', ['a="b\\", c"', 'd']],
    ['a="b\\\\", c', ['a="b\\\\"', 'c']],
  ]
  for (const [fieldValue, members] of rows) t.strictSame(listMembers(fieldValue), members, fieldValue)
})

t.test('a member is split at semicolons, and the name of a directive ends at the equals sign', async (t) => {
  t.strictSame(memberParts('text/html ; level="1;2" ; q=0.5'), ['text/html', 'level="1;2"', 'q=0.5'])
  t.strictSame(memberParts('; a'), ['', 'a'])
  t.strictSame(['Max-Age = 5', 'no-store', 'a=b=c', ''].map(directiveName), ['max-age', 'no-store', 'a', ''])
})

t.test('in a quoted string, quotes and backslashes are escaped', async (t) => {
  t.equal(quoted('a"b\\"c'), '"a\\"b\\\\\\"c"')
})

t.test('the time is linear in the length of the header', async (t) => {
  t.strictSame(await superlinearSeeds(['"', '"\\', '\\"', ',', '",', ';', ' '], listMembers), [])
})
