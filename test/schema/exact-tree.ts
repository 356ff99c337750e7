import { type Fields, joinPath } from '../../src/json/selection.js'

/** JSON as it stands on the wire: every number by its digits, every member in its place. An oracle of its own. */
export type Tree =
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  | { readonly kind: 'array'; readonly items: readonly Tree[] }
  | { readonly kind: 'scalar'; readonly json: string }

/** A member of an object: its key, the key as it was written, and the value. */
export interface Member {
  readonly key: string
  readonly raw: string
  readonly value: Tree
}

/** Reads JSON without interpreting its numbers; throws where it is none. */
export function parseExact(json: string): Tree {
  let at = 0
  const token = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    const match = pattern.exec(json)
    if (match === null) return null
    at += match[0].length
    return match[0]
  }
  const take = (text: string): boolean => {
    if (!json.startsWith(text, at)) return false
    at += text.length
    return true
  }
  const need = <Found>(found: Found | null | false): Found => {
    if (found === null || found === false)
      throw new SyntaxError(`not JSON at ${at}: ${json.slice(at - 20, at + 20)}`)
    return found
  }
  const value = (): Tree => {
    if (take('{')) return { kind: 'object', members: list('}', member) }
    if (take('[')) return { kind: 'array', items: list(']', value) }
    return { kind: 'scalar', json: need(token(text) ?? token(number) ?? token(literal)) }
  }
  const member = (): Member => {
    const raw = need(token(text))
    need(take(':'))
    return { key: JSON.parse(raw) as string, raw, value: value() }
  }
  const list = <Part>(end: string, part: () => Part): Part[] => {
    const parts: Part[] = []
    if (take(end)) return parts
    do parts.push(part())
    while (take(','))
    need(take(end))
    return parts
  }
  const tree = value()
  need(at === json.length)
  return tree
}

const text = /"(?:[^"\\]|\\.)*"/suy
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?/iuy
const literal = /true|false|null/uy

/** The JSON that a tree was read from. */
export function writeExact(tree: Tree): string {
  if (tree.kind === 'scalar') return tree.json
  if (tree.kind === 'array') return `[${tree.items.map(writeExact).join(',')}]`
  return `{${tree.members.map(({ raw, value }) => `${raw}:${writeExact(value)}`).join(',')}}`
}

/** The value of a tree, with BigInts for the integers that a Number cannot hold. */
export function valueIn(tree: Tree): unknown {
  if (tree.kind === 'array') return tree.items.map(valueIn)
  if (tree.kind === 'object')
    return Object.fromEntries(tree.members.map(({ key, value }) => [key, valueIn(value)]))
  return isUnsafe(tree.json) ? BigInt(tree.json) : JSON.parse(tree.json)
}

/** The tree without the members that are called `<name>_str`. */
export function withoutTwins(tree: Tree): Tree {
  if (tree.kind === 'array') return { ...tree, items: tree.items.map(withoutTwins) }
  if (tree.kind === 'scalar') return tree
  const members = tree.members.filter(({ key }) => !key.endsWith('_str'))
  return { ...tree, members: members.map((member) => ({ ...member, value: withoutTwins(member.value) })) }
}

/**
 * What is wrong with the twins of a tree: a number that needs one has none right behind it, one that stands elsewhere
 * or has other digits, a key that is there twice.
 */
export function twinFaults(tree: Tree): string[] {
  if (tree.kind === 'scalar') return []
  if (tree.kind === 'array') return tree.items.flatMap(twinFaults)
  const keys = tree.members.map(({ key }) => key)
  const repeated = keys
    .filter((key, index) => keys.indexOf(key) < index)
    .map((key) => `${key} is there twice`)
  const faults = tree.members.flatMap(({ key, value }, index) => {
    const next = tree.members[index + 1]
    const twin = next?.key === `${key}_str` ? writeExact(next.value) : null
    if (key.endsWith('_str'))
      return `${tree.members[index - 1]?.key}_str` === key ? [] : [`${key} stands alone`]
    if (twin === null) return hasUnsafe(value) ? [`${key} has no twin`] : twinFaults(value)
    return twin === twinOf(value) ? [] : [`${key} is ${writeExact(value)}, its twin ${twin}`]
  })
  return [...repeated, ...faults]
}

/** What a selection leaves of a tree; a twin and its number stay together. */
export function narrowed(tree: Tree, fields: Fields): Tree {
  if (tree.kind === 'array') return { ...tree, items: tree.items.map((item) => narrowed(item, fields)) }
  if (tree.kind === 'scalar') return tree
  const members = tree.members.flatMap((member) => {
    const number = member.key.replace(/_str$/, '')
    const below = fields.get(number) ?? fields.get(`${number}_str`)
    if (below === undefined) return []
    return [below === true ? member : { ...member, value: narrowed(member.value, below) }]
  })
  return { ...tree, members }
}

/** The dot paths of all that is in a tree. */
export function pathsOf(tree: Tree, within: readonly string[] = []): string[] {
  if (tree.kind === 'array') return [...new Set(tree.items.flatMap((item) => pathsOf(item, within)))]
  if (tree.kind === 'scalar') return []
  return tree.members.flatMap(({ key, value }) => {
    const path = [...within, key]
    return [joinPath(path), ...pathsOf(value, path)]
  })
}

/** The leaves of a tree, each with the path that leads to it; empty objects and arrays are none. */
export function leavesOf(tree: Tree, path = ''): string[] {
  if (tree.kind === 'array') return tree.items.flatMap((item, index) => leavesOf(item, `${path}[${index}]`))
  if (tree.kind === 'scalar') return [`${path}=${tree.json}`]
  return tree.members.flatMap(({ key, value }) => leavesOf(value, `${path}.${key}`))
}

function hasUnsafe(tree: Tree): boolean {
  if (tree.kind === 'array') return tree.items.some((item) => item.kind !== 'object' && hasUnsafe(item))
  return tree.kind === 'scalar' && isUnsafe(tree.json)
}

function twinOf(tree: Tree): string {
  if (tree.kind === 'array') return `[${tree.items.map(twinOf).join(',')}]`
  return tree.kind === 'scalar' && isInteger(tree.json) ? `"${tree.json}"` : 'null'
}

function isUnsafe(json: string): boolean {
  return isInteger(json) && !Number.isSafeInteger(Number(json))
}

function isInteger(json: string): boolean {
  return /^-?\d+$/.test(json)
}
