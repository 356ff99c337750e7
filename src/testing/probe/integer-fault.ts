import { isObject } from '../../options.js'

/** Returns the first integer without a twin that needs one. Not recursive: the value may be as deep as a parser allows. */
export function integerFault(json: unknown): string | null {
  const open: unknown[] = [json]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) open.push(...value.filter((item) => typeof item === 'object'))
    if (!isObject(value)) continue
    for (const [name, member] of Object.entries(value)) {
      const twin = value[`${name}_str`] ?? value[`${name}Str`]
      const digits = digitsOf(member)
      if (digits !== null && twin === undefined && needsTwin(member))
        return `${name}: ${digits} without a twin`
      if (digits !== null && twin !== undefined && String(digitsOf(twin) ?? twin) !== digits)
        return `${name}: ${digits} with the twin ${twin}`
      if (typeof member === 'object') open.push(member)
    }
  }
  return null
}

function digitsOf(value: unknown): string | null {
  if (Array.isArray(value)) return value.length > 0 && value.every(isScalar) ? String(value) : null
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : null
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function needsTwin(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(needsTwin)
  return typeof value === 'bigint' || (Number.isInteger(value) && !Number.isSafeInteger(value))
}
