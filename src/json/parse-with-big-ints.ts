import { parseExact } from './exact-body.js'
import { markedLiteral } from './long-literals.js'

/**
 * Parses JSON as `JSON.parse` does, but for integers of up to 20 digits that a Number may not hold: they become BigInts.
 *
 * @throws SyntaxError for what is no JSON
 */
export function parseWithBigInts(json: string): unknown {
  return parseExact(json, parse).value
}

const integer = /^-?\d+$/

function parse(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown) => {
    const literal = markedLiteral(value)
    if (literal === null) return value
    return integer.test(literal) ? BigInt(literal) : Number(literal)
  })
}
