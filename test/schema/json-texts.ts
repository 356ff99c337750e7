import fc from 'fast-check'

/** A number as JSON, short or long. */
const number = fc.oneof(
  fc.stringMatching(/^-?(?:0|[1-9]\d{0,24})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/),
  fc.constantFrom('-0', '9007199254740991', '9007199254740992', '-9007199254740993', '1e400'),
)
const letters = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 5 }),
  fc.constantFrom('"', '\\', ': ', ', ', '[', '_str', '__proto', '\u2028', '\ud800'),
  number,
)
/** A string as JSON, often with digits in it that look like a number of the JSON. */
const string = fc.tuple(fc.array(letters, { maxLength: 5 }), fc.boolean()).map(([parts, escapes]) => {
  const text = JSON.stringify(parts.join(''))
  return escapes ? text.replaceAll('1', '\\u0031').replaceAll('/', '\\/') : text
})
const space = fc.stringMatching(/^[ \n\t\r]{0,2}$/)

/** Valid JSON of any form, rich in long digits. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => {
  const spaced = fc.tuple(space, tie('value'), space).map((parts) => parts.join(''))
  const member = fc.tuple(space, string, space, spaced).map(([a, key, b, value]) => `${a}${key}${b}:${value}`)
  const scalar = fc.oneof(number, string, fc.constantFrom('true', 'false', 'null'))
  return {
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(spaced, { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
      fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(',')}}`),
    ),
  }
}).value
