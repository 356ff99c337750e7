/** Texts in answers and messages have a bound, whatever a client sends. */
import fc from 'fast-check'
import t from 'tap'
import { clip } from '../src/text.js'

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
  t.strictSame([clip('𐀀𐀀', 1), clip('𐀀𐀀', 3)], ['…', '𐀀…'])
})
