import { bootErrors } from './boot-errors.js'
import { clip } from './text.js'

/** Accepts a value or throws, naming the option (`label`), what was expected and what came. */
export type Check<T> = (label: string, received: unknown) => T

/** A check for every option of `Options`. */
export type Checks<Options> = {
  readonly [Key in keyof Required<Options>]: Check<Exclude<Required<Options>[Key], undefined>>
}

// Fastify hands these to a plugin along with the plugin's own options.
const optionsOfRegister: ReadonlySet<string> = new Set(['prefix', 'logLevel', 'logSerializers'])

/**
 * Checks the options a plugin was registered with and lays them over its defaults, into a new frozen object.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function resolveOptions<Options extends object, Defaults extends Options>(
  label: string,
  received: Options | undefined,
  checks: Checks<Options>,
  defaults: Defaults,
): Readonly<Defaults> {
  const own = Object.fromEntries(
    Object.entries(object(label, received ?? {})).filter(([name]) => !optionsOfRegister.has(name)),
  )
  return Object.freeze({ ...defaults, ...checkEach(label, own, checks) })
}

/**
 * Resolves what a route says under `config.<plugin>`: absent means the plugin's own options, an object is laid
 * over them, `false` means off. The result is frozen; `false` comes back as `false`.
 *
 * @throws FST_CONV_OPTION_INVALID for anything else, FST_CONV_OPTION_UNKNOWN
 */
export function resolveRouteOptions<Options extends object, Resolved extends Options>(
  label: string,
  received: Options | false | undefined,
  checks: Checks<Options>,
  resolved: Resolved,
): Readonly<Resolved> | false {
  if (received === undefined) return resolved
  if (received === false) return false
  if (!isObject(received)) return invalid(label, 'an object or false', received)
  return Object.freeze({ ...resolved, ...checkEach(label, received, checks) })
}

/** One of the listed values. */
export function oneOf<const Values extends readonly (string | number | boolean)[]>(
  ...values: Values
): Check<Values[number]> {
  const expected = values.map(show).join(', ')
  return (label, received) =>
    values.includes(received as Values[number])
      ? (received as Values[number])
      : invalid(label, values.length === 1 ? expected : `one of ${expected}`, received)
}

/** A whole number within bounds, both included. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Check<number> {
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`
  return (label, received) =>
    Number.isSafeInteger(received) && (received as number) >= min && (received as number) <= max
      ? (received as number)
      : invalid(label, expected, received)
}

/** A string that is not empty; `pattern` narrows it, `expected` says to what. */
export function text(expected = 'a non-empty string', pattern = /./s): Check<string> {
  return (label, received) =>
    typeof received === 'string' && pattern.test(received) ? received : invalid(label, expected, received)
}

/** A function; `expected` says of what. */
export function functionOf<Fn>(expected: string): Check<Fn> {
  return (label, received) =>
    typeof received === 'function' ? (received as Fn) : invalid(label, expected, received)
}

/** A path that a service is mounted below, or `''`. */
export const basePath: Check<string> = text("'' or a path such as '/api'", /^$|^(\/[^/]+)+$/)

/** `true` or `false`. */
export const flag: Check<boolean> = oneOf(true, false)

/** A list whose items all pass `check`; comes back as a new frozen list. */
export function listOf<Item>(check: Check<Item>): Check<readonly Item[]> {
  return (label, received) =>
    Array.isArray(received)
      ? Object.freeze(received.map((item, index) => check(`${label}[${index}]`, item)))
      : invalid(label, 'an array', received)
}

/** An object with no other keys than those of `checks`, each optional; comes back as a new frozen object. */
export function objectOf<Options extends object>(checks: Checks<Options>): Check<Readonly<Options>> {
  return (label, received) => Object.freeze(checkEach(label, object(label, received), checks))
}

/** The same value under each of the keys. */
export function each<Key extends string, Value>(keys: readonly Key[], value: Value): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, value])) as Record<Key, Value>
}

/** Throws FST_CONV_OPTION_INVALID. */
export function invalid(label: string, expected: string, received: unknown): never {
  throw new bootErrors.FST_CONV_OPTION_INVALID(label, expected, show(received))
}

/** Is it an object that can hold options: no list, and not `null`? */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function checkEach<Options extends object>(
  label: string,
  received: Readonly<Record<string, unknown>>,
  checks: Checks<Options>,
): Options {
  const checked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(received)) {
    if (!Object.hasOwn(checks, name)) {
      const known = Object.keys(checks).sort().join(', ')
      throw new bootErrors.FST_CONV_OPTION_UNKNOWN(`${label}.${name}`, known)
    }
    // An option that is passed as undefined is an option that is not set.
    if (value !== undefined) checked[name] = checks[name as keyof Options](`${label}.${name}`, value)
  }
  return checked as Options
}

function object(label: string, received: unknown): Record<string, unknown> {
  return isObject(received) ? received : invalid(label, 'an object', received)
}

const longestShown = 80

function show(value: unknown): string {
  if (typeof value === 'function') return `a function (${value.name || 'anonymous'})`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string') return clip(`'${value}'`, longestShown)
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    return clip(JSON.stringify(value), longestShown)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
