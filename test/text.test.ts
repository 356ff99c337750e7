/** Texts in answers and messages have a bound, whatever a client sends. */
import fc from 'fast-check'
import t from 'tap'
import { clip } from '../src/text.js'

t.test('a text is cut to a length, with an ellipsis if it was cut', async (t) => {
  const rows: readonly (readonly [text: string, length: number, clipped: string])[] = [
    ['', 0, ''],
    ['', 5, ''],
    ['abc', 5, 'abc'],
    ['abcde', 5, 'abcde'],
    ['abcdef', 5, 'abcde…'],
    ['abc', 0, '…'],
  ]
  for (const [text, length, clipped] of rows) t.equal(clip(text, length), clipped, `${text} to ${length}`)
})

t.test('a short text does not change; a long one keeps its beginning, and is bounded', async () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(20), (text, length) => {
      const clipped = clip(text, length)
      if (text.length <= length) return clipped === text
      return clipped.length <= length + 1 && clipped.endsWith('…') && text.startsWith(clipped.slice(0, -1))
    }),
  )
})

t.test('cutting twice changes nothing', async () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.nat(20),
      (text, length) => clip(clip(text, length), length) === clip(text, length),
    ),
  )
})

t.test('a character of two code units is not cut in half', async (t) => {
  t.equal(clip('𐀀𐀀', 1), '…')
  t.equal(clip('𐀀𐀀', 3), '𐀀…')
})
