import t from 'tap'
import { readKey } from '../../../src/plugins/idempotency/request.js'

t.test('a key is a text in quotes with escapes, or a token without; other values are none', async (t) => {
  const uuid = '8e03978e-40d5-43e8-bc93-6894a57f9324'
  const long = 'x'.repeat(255)
  const rows: readonly (readonly [fieldValue: string, key: string])[] = [
    [`"${uuid}"`, uuid],
    [uuid, uuid],
    ['"a b, c;d"', 'a b, c;d'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    [long, long],
    [`"${long}"`, long],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ]
  for (const [fieldValue, key] of rows) t.equal(readKey(fieldValue), key)
  for (const other of [
    ...['"a\\bc"', '', '""', '"', '"a', 'a"', 'a b', 'a, a', '"a", "a"', '"a";p=1', 'a;p=1', 'ä', '"ä"'],
    ...['"a\u0000"', '"a\tb"', `${long}x`, `"${long}x"`, `"${'\\"'.repeat(256)}"`],
  ]) {
    t.equal(readKey(other), null, other.slice(0, 40))
  }
})
