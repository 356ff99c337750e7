import fc from 'fast-check'

/** Digits, so many. */
const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })

const integer = fc
  .tuple(fc.constantFrom('', '-'), fc.constantFrom(...'123456789'), fc.oneof(digits(0, 4), digits(13, 24)))
  .map((parts) => parts.join(''))

const fraction = fc
  .tuple(fc.oneof(integer, fc.constantFrom('0', '-0')), fc.oneof(digits(1, 20), fc.constant('0'.repeat(18))))
  .map(([whole, rest]) => `${whole}.${rest}`)

const exponent = fc
  .tuple(fc.oneof(integer, fraction), fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(1, 3))
  .map((parts) => parts.join(''))

/** A number as JSON, short or long. */
const numberText = fc.oneof(
  { weight: 4, arbitrary: integer },
  fraction,
  exponent,
  fc.constantFrom('0', '-0', '9007199254740991', '9007199254740992', '-9007199254740993', '1e400'),
)

const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 5 }),
  fc.constantFrom('"', '\\', ': ', ', ', '[', ' ', '_str', '__proto', '\u2028', '\ud800'),
  integer,
)

/** A string as JSON, often with digits in it that look like a number of the JSON. */
const stringText = fc.tuple(fc.array(piece, { maxLength: 5 }), fc.boolean()).map(([pieces, escapes]) => {
  const text = JSON.stringify(pieces.join(''))
  return escapes ? text.replaceAll('1', '\\u0031').replaceAll('/', '\\/') : text
})

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 2 })

/** Valid JSON of any form, rich in long digits. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => {
  const spaced = fc.tuple(space, tie('value'), space).map((parts) => parts.join(''))
  const member = fc
    .tuple(space, stringText, space, spaced)
    .map(([a, key, b, value]) => `${a}${key}${b}:${value}`)
  return {
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      numberText,
      stringText,
      fc.constantFrom('true', 'false', 'null'),
      fc.array(spaced, { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
      fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(',')}}`),
    ),
  }
}).value
