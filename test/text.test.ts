/** Texts in answers and messages have a bound, whatever a client sends. */
import fc from 'fast-check'
import t from 'tap'
import { clip, counted, groupsOf } from '../src/text.js'

t.test('a short text does not change; a long one keeps its beginning, and is bounded', async (t) => {
  t.strictSame([clip('abcde', 5), clip('abcdef', 5), clip('abc', 0)], ['abcde', 'abcde…', '…'])
  fc.assert(
    fc.property(fc.string(), fc.nat(20), (text, length) => {
      const clipped = clip(text, length)
      if (text.length <= length) return clipped === text
      return clipped.length <= length + 1 && clipped.endsWith('…') && text.startsWith(clipped.slice(0, -1))
    }),
  )
})

t.test('a character of two code units is not cut in half', async (t) => {
  t.strictSame([clip('𐀀𐀀', 1), clip('𐀀𐀀', 3), clip('𐀀a𐀀', 3)], ['…', '𐀀…', '𐀀a…'])
})

t.test('a count has its noun in the plural, but for one', async (t) => {
  t.strictSame(
    [counted(0, 'route'), counted(1, 'route'), counted(2, 'query', 'queries')],
    ['0 routes', '1 route', '2 queries'],
  )
})

t.test('groups have their items in the given order', async (t) => {
  const groups = groupsOf(['ant', 'bee', 'asp'], (word) => word.charAt(0))
  t.strictSame(
    [...groups],
    [
      ['a', ['ant', 'asp']],
      ['b', ['bee']],
    ],
  )
})
