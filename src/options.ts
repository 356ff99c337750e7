import { bootErrors } from './boot-errors.js'
import { kept } from './kept.js'
import { clip } from './text.js'

/** Returns the value of an option, or throws an error with its name (`label`), what was expected and what was received. */
export type Check<T> = (label: string, received: unknown) => T

export type Checks<Options> = {
  readonly [Key in keyof Required<Options>]: Check<Exclude<Required<Options>[Key], undefined>>
}

const optionsOfRegister: ReadonlySet<string> = new Set(['prefix', 'logLevel', 'logSerializers'])

/** Returns the options of a plugin without those of `register()`, which Fastify passes to plugins, too. */
export function pluginOptions<Options>(received: Options): Options {
  if (!isObject(received)) return received
  const own = Object.entries(received).filter(([name]) => !optionsOfRegister.has(name))
  return Object.fromEntries(own) as Options
}

/** Returns options, checked and merged over the declared defaults, in a new frozen object. */
export function resolveOptions<Declared extends DeclaredOptions>(
  label: string,
  received: object | undefined,
  declared: Declared,
): ResolvedOptions<Declared> {
  const checked = checkEach(label, object(label, received ?? {}), checksOf(declared))
  return Object.freeze({ ...tablesOf(declared).defaults, ...checked }) as ResolvedOptions<Declared>
}

/**
 * Returns the options of a route under `config.<plugin>`, checked, in a new frozen object; or `false` for off.
 *
 * @param acceptsTrue whether `true` is the same as `{}`
 */
export function routeOptionsOf<Options extends object>(
  label: string,
  received: unknown,
  checks: Checks<Options>,
  acceptsTrue = false,
): Readonly<Options> | false {
  if (received === false) return false
  const given = acceptsTrue && received === true ? {} : received
  if (!isObject(given))
    return invalid(label, acceptsTrue ? 'an object, true or false' : 'an object or false', given)
  return Object.freeze(checkEach(label, given, checks))
}

/** An option: its check, and its value if it is absent. */
export interface Option<T> {
  readonly check: Check<T>
  readonly default: T
}

/** Options by name. The type of an object with these options is {@link OptionsOf}. */
export type DeclaredOptions = Readonly<Record<string, Option<unknown>>>

/** The options that users write: all are optional. */
export type OptionsOf<Declared> = {
  readonly [Name in keyof Declared]?: Declared[Name] extends Option<infer T> ? Exclude<T, undefined> : never
}

/** Options with their defaults. */
export type ResolvedOptions<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Option<infer T> ? T : never
}

/** Returns an option with a default. */
export function option<T>(check: Check<T>, value: T): Option<T> {
  return { check, default: value }
}

/** Returns an option without a default. */
export function optional<T>(check: Check<T>): Option<T | undefined> {
  return { check, default: undefined }
}

// Some options are resolved for each request.
const tables = new WeakMap<DeclaredOptions, { readonly checks: object; readonly defaults: object }>()

function tablesOf(declared: DeclaredOptions) {
  return kept(tables, declared, () => {
    const options = Object.entries(declared)
    return {
      checks: Object.fromEntries(options.map(([name, { check }]) => [name, check])),
      defaults: Object.fromEntries(options.map(([name, one]) => [name, one.default])),
    }
  })
}

export function checksOf<Declared extends DeclaredOptions>(declared: Declared): Checks<OptionsOf<Declared>> {
  return tablesOf(declared).checks as Checks<OptionsOf<Declared>>
}

/** Returns a check for one of the listed values. */
export function oneOf<const Values extends readonly (string | number | boolean)[]>(
  ...values: Values
): Check<Values[number]> {
  const expected = values.map(show).join(', ')
  return (label, received) =>
    values.includes(received as Values[number])
      ? (received as Values[number])
      : invalid(label, values.length === 1 ? expected : `one of ${expected}`, received)
}

/** Returns a check for an integer from `min` to `max`. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Check<number> {
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`
  return (label, received) =>
    Number.isSafeInteger(received) && (received as number) >= min && (received as number) <= max
      ? (received as number)
      : invalid(label, expected, received)
}

/** Returns a check for a string that matches `pattern`, by default a non-empty one. */
export function text(expected = 'a non-empty string', pattern = /./s): Check<string> {
  return (label, received) =>
    typeof received === 'string' && pattern.test(received) ? received : invalid(label, expected, received)
}

/** Returns a check for a function. */
export function functionOf<Fn>(expected: string): Check<Fn> {
  return (label, received) =>
    typeof received === 'function' ? (received as Fn) : invalid(label, expected, received)
}

/** Returns a check for an object with these methods and flags, such as a client or a store. */
export function objectWith<Given>(
  expected: string,
  methods: readonly (keyof Given & string)[],
  flags: readonly (keyof Given & string)[] = [],
): Check<Given> {
  return (label, received) =>
    isObject(received) &&
    methods.every((name) => typeof received[name] === 'function') &&
    flags.every((name) => typeof received[name] === 'boolean')
      ? (received as Given)
      : invalid(label, expected, received)
}

export function orFalse<T>(check: Check<T>): Check<T | false> {
  return (label, received) => (received === false ? false : check(label, received))
}

/** Checks a path below which a service is mounted, or `''`. */
export const basePath: Check<string> = text("'' or a path such as '/api'", /^$|^(\/[^/]+)+$/)

/** Checks a boolean. */
export const flag: Check<boolean> = oneOf(true, false)

/**
 * Returns a check for an array whose items pass `check`. It returns a new frozen array.
 *
 * @param ifEmpty what was expected in place of an empty array, which is valid without it
 */
export function listOf<Item>(check: Check<Item>, ifEmpty?: string): Check<readonly Item[]> {
  return (label, received) => {
    if (!Array.isArray(received)) return invalid(label, 'an array', received)
    if (ifEmpty !== undefined && received.length === 0) return invalid(label, ifEmpty, received)
    return Object.freeze(received.map((item, index) => check(`${label}[${index}]`, item)))
  }
}

/** Returns a check for an object with the keys of `checks`, optional unless `needed`. It returns a new frozen object. */
export function objectOf<Options extends object, Needed extends keyof Options = never>(
  checks: Checks<Options>,
  needed: readonly Needed[] = [],
): Check<Readonly<Options & Required<Pick<Options, Needed>>>> {
  return (label, received) => {
    const checked = checkEach(label, object(label, received), checks)
    for (const name of needed) {
      if (checked[name] === undefined) checks[name](`${label}.${String(name)}`, undefined)
    }
    return Object.freeze(checked as Options & Required<Pick<Options, Needed>>)
  }
}

export function each<Key extends string, Value>(keys: readonly Key[], value: Value): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, value])) as Record<Key, Value>
}

export function invalid(label: string, expected: string, received: unknown): never {
  throw new bootErrors.FST_CONV_OPTION_INVALID(label, expected, show(received))
}

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
    // undefined is the same as an absent option.
    if (value !== undefined) checked[name] = checks[name as keyof Options](`${label}.${name}`, value)
  }
  return checked as Options
}

function object(label: string, received: unknown): Record<string, unknown> {
  return isObject(received) ? received : invalid(label, 'an object', received)
}

const maxShown = 80

function show(value: unknown): string {
  if (typeof value === 'function') return `a function (${value.name || 'anonymous'})`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string') return clip(`'${value}'`, maxShown)
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    return clip(JSON.stringify(value), maxShown)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
