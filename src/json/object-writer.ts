import type { Member, Shape } from '../json-schema/shape.js'
import type { OnLostDigits } from './integer-text.js'
import { isPlainText } from './json-text.js'

/** Writes a value as JSON. */
export type Write = (value: unknown, onLost: OnLostDigits) => string

/** A member of an object as it is written: with its twin, where it has one. */
export interface WrittenMember extends Member {
  /** JSON of the value, followed by the twin and its key. */
  readonly write: Write
  /** Where it is the declared twin of a number that has none of its own in every alternative. */
  readonly declaredTwin?: DeclaredTwin | undefined
}

/** What a declared member, called like a twin, is the twin of. */
export interface DeclaredTwin {
  /** The name of the number. */
  readonly of: string
  /** Whether the number in this object is followed by its own twin, which stands in the member's place. */
  readonly isReplaced: (object: object) => boolean
}

/** Writes the members of an object that its shape does not declare, each with a comma in front. */
export type WriteRest = (object: object, onLost: OnLostDigits) => string

/** Writes an object. */
export type WriteObject = (object: object, onLost: OnLostDigits) => string

/**
 * Appends a member, where the object has it, to the JSON of those before it, which is without the closing brace; `''`
 * where there are none.
 */
export type AppendMember = (json: string, object: object, onLost: OnLostDigits) => string

/** Makes what appends a member: by the writer of its value, and with the JSON of its default, where it has one. */
export type AppenderFactory = (write: Write, fallback: string | null) => AppendMember

/**
 * Generates the writer of an object: one read for each member, by its name, which the engine can make as fast as it
 * makes a literal access. Names enter the code as JSON strings only.
 *
 * @param alsoRequired names that have to be there, and are not written
 */
export function generateObjectWriter(
  members: readonly WrittenMember[],
  writeRest: WriteRest | null,
  alsoRequired: readonly string[] = [],
): WriteObject {
  // The members behind one that is always written are not the first.
  const firstAlways = members.findIndex(
    (member) => (member.required || member.fallback !== null) && member.declaredTwin === undefined,
  )
  const isFirst = (index: number): boolean | undefined =>
    index === 0 ? true : firstAlways !== -1 && firstAlways < index ? false : undefined
  const appends = members.map((member, index) => {
    const codes = {
      value: `value${index}`,
      write: `write${index}`,
      fallback: JSON.stringify(member.fallback),
    }
    const append = appendCode(member, isFirst(index), codes)
    return member.declaredTwin === undefined
      ? append
      : `
      if (!members[${index}].declaredTwin.isReplaced(object)) {${append}}`
  })
  const end = firstAlways === -1 ? `json === '' ? '{}' : json + '}'` : `json + '}'`
  const rest = `const rest = writeRest(object, onLost); json += json === '' && rest !== '' ? '{' + rest.slice(1) : rest`
  const code = `
    ${members.map((_, index) => `const write${index} = writes[${index}]`).join('\n')}
    let skips = 0
    return function writeMembers(object, onLost) {
      ${alsoRequired.map((name) => `if (object[${JSON.stringify(name)}] === undefined) throw missing(${JSON.stringify(name)})`).join('\n')}
      ${members.map(({ name }, index) => `const value${index} = ${readOf(name)}`).join('\n')}
      ${writeRest === null ? wholeCode(members) : ''}
      let json = ''
      ${appends.join('')}
      ${writeRest === null ? '' : rest}
      return ${end}
    }`
  const make = compile(['writes', 'writeRest', 'members'], code)
  return make(
    members.map((member) => member.write),
    writeRest,
    members,
  ) as WriteObject
}

/**
 * The code that writes an object in one expression, where all members are there and have values of their type: what stands
 * between two values is one literal then. After an object of which that is not true, the next eight are not tried.
 */
function wholeCode(members: readonly WrittenMember[]): string {
  if (members.length === 0 || members.some(({ declaredTwin }) => declaredTwin !== undefined)) return ''
  const parts = members.map(({ name, shape }, index) => {
    const usual = usualValues(shape, `value${index}`)
    const test = usual?.test ?? `value${index} !== undefined`
    const value = usual === null ? `write${index}(value${index}, onLost)` : `value${index}`
    return { name, test, value, quote: usual?.quote ?? '' }
  })
  const values = parts.map(({ value, name, quote }, index) => {
    const before = `${parts[index - 1]?.quote ?? ''}${index === 0 ? '{' : ','}${JSON.stringify(name)}:${quote}`
    return `${JSON.stringify(before)} + ${value}`
  })
  const end = JSON.stringify(`${parts.at(-1)?.quote ?? ''}}`)
  return `
      if (skips > 0) skips--
      else {
        if (${parts.map(({ test }) => test).join(' && ')}) return ${values.join(' + ')} + ${end}
        skips = 8
      }`
}

/** Generates the code that appends one member, whatever stands before it. */
export function generateAppender(member: Member): AppenderFactory {
  const code = `
    return function appendMember(json, object, onLost) {
      const value = ${readOf(member.name)}
      ${appendCode(member, undefined, { value: 'value', write: 'write', fallback: 'fallback' })}
      return json
    }`
  return compile(['write', 'fallback'], code) as AppenderFactory
}

/**
 * The code that appends a member to `json`. Every `+` makes a string, so the comma, the name and the quote before a text
 * are one literal.
 *
 * @param isFirst whether it is the first of its object; `undefined` where that is known at run time only
 * @param codes what stands for its value, for the writer of that, and for the JSON of its default
 */
function appendCode(
  { name, shape, required, fallback }: Member,
  isFirst: boolean | undefined,
  codes: { readonly value: string; readonly write: string; readonly fallback: string },
): string {
  const { value } = codes
  const keyAnd = (start: string): string => {
    const [first, later] = ['{', ','].map((open) => JSON.stringify(`${open}${JSON.stringify(name)}:${start}`))
    return isFirst === undefined ? `(json === '' ? ${first} : ${later})` : `${isFirst ? first : later}`
  }
  const usual = usualValues(shape, value)
  const ifUsual =
    usual === null
      ? ''
      : `if (${usual.test}) json += ${keyAnd(usual.quote)} + ${value}${usual.quote && ` + '${usual.quote}'`}; else`
  const ifAbsent =
    fallback !== null
      ? `else json += ${keyAnd('')} + ${codes.fallback}`
      : required
        ? `else throw missing(${JSON.stringify(name)})`
        : ''
  return `
      ${ifUsual} if (${value} !== undefined) json += ${keyAnd('')} + ${codes.write}(${value}, onLost)
      ${ifAbsent}`
}

// Most values are their own JSON, but for quotes: they are written without a call of the writer.
function usualValues(shape: Shape, value: string): { readonly test: string; readonly quote: string } | null {
  if (shape.kind === 'text')
    return { test: `typeof ${value} === 'string' && isPlainText(${value})`, quote: '"' }
  if (shape.kind === 'boolean') return { test: `typeof ${value} === 'boolean'`, quote: '' }
  const isNumber = shape.kind === 'number' || (shape.kind === 'integer' && shape.int64 === null)
  return isNumber ? { test: `Number.isSafeInteger(${value})`, quote: '' } : null
}

// Inherited properties, such as `constructor`, are not data.
function readOf(name: string): string {
  const key = JSON.stringify(name)
  return name in Object.prototype
    ? `Object.hasOwn(object, ${key}) ? object[${key}] : undefined`
    : `object[${key}]`
}

function missing(name: string): Error {
  return new Error(`${JSON.stringify(name)} is required!`)
}

function compile(parameters: readonly string[], code: string): (...values: unknown[]) => unknown {
  const make = new Function('isPlainText', 'missing', ...parameters, `'use strict'\n${code}`)
  return (...values) => make(isPlainText, missing, ...values)
}
