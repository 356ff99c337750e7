import type { OnLostDigits } from './integer-text.js'
import type { WrittenMember } from './write.js'

/** Writes the members of an object that its shape does not declare, each with a comma in front. */
export type WriteRest = (object: object, onLost: OnLostDigits) => string

/** Writes an object. */
export type WriteObject = (object: object, onLost: OnLostDigits) => string

/**
 * Generates the writer of an object: one read for each member, by its name, which the engine can make as fast as it
 * makes a literal access. Names enter the code as JSON strings only.
 */
export function generateObjectWriter(
  members: readonly WrittenMember[],
  writeRest: WriteRest | null,
): WriteObject {
  // Once a member has been written for certain, the others need not ask whether they are the first.
  const firstIsSure = members[0] !== undefined && (members[0].required || members[0].fallback !== null)
  const reads = members.map(({ name, required, fallback }, index) => {
    const key = `${JSON.stringify(name)}:`
    const comma = firstIsSure
      ? JSON.stringify((index === 0 ? '{' : ',') + key)
      : `comma + ${JSON.stringify(key)}`
    const then = firstIsSure ? '' : "; comma = ','"
    const absent =
      fallback !== null
        ? `json += ${comma} + ${JSON.stringify(fallback)}${then}`
        : required
          ? `throw missing(${JSON.stringify(name)})`
          : ''
    return `
      value = ${readOf(name)}
      if (value !== undefined) { json += ${comma} + write${index}(value, onLost)${then} }
      else { ${absent} }`
  })
  const rest = firstIsSure ? 'json += rest' : "json += comma === '{' ? '{' + rest.slice(1) : rest"
  const code = `
    'use strict'
    ${members.map((_, index) => `const write${index} = writes[${index}]`).join('\n')}
    return function writeMembers(object, onLost) {
      let json = '', comma = '{', value
      ${reads.join('')}
      ${writeRest === null ? '' : `const rest = writeRest(object, onLost); ${rest}`}
      return (json === '' ? '{' : json) + '}'
    }`
  const make = new Function('writes', 'writeRest', 'missing', code)
  return make(
    members.map((member) => member.write),
    writeRest,
    missing,
  ) as WriteObject
}

// What every object inherits is nobody's data.
function readOf(name: string): string {
  const key = JSON.stringify(name)
  return name in Object.prototype
    ? `Object.hasOwn(object, ${key}) ? object[${key}] : undefined`
    : `object[${key}]`
}

/** The error for a required member that is not there. */
export function missing(name: string): Error {
  return new Error(`${JSON.stringify(name)} is required!`)
}
