import { wordsOf } from '../words/key-names.js'

const inKebabCase = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
const maxLength = 100

/**
 * Returns a code in the form of a problem code, lower-kebab: `E_FUNDS` and `eFunds` are `e-funds`. Returns `null` where
 * there is none in it, or where it is longer than 100 characters.
 */
export function kebabCode(code: unknown): string | null {
  if (typeof code !== 'string' || code.length > maxLength) return null
  if (inKebabCase.test(code)) return code
  const kebab = wordsOf(code).join('-')
  return inKebabCase.test(kebab) ? kebab : null
}
