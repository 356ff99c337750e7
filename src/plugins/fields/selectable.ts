import { joinPath, splitPath } from '../../json/field-tree.js'
import { canonicalPath, fieldNames, isField, isList, shapeWithin } from '../../json-schema/field-names.js'
import { anything, type Shape } from '../../json-schema/shape.js'
import { invalid } from '../../options.js'
import { joinWords, wordsOf } from '../../words/key-names.js'
import { FieldSelector } from './field-selector.js'
import type { FieldsRouteOptions, ResolvedFields } from './options.js'

/** What has to be known of a route. */
export interface RouteFacts {
  /** Names the route's options in errors. */
  readonly label: string
  /** Whether it reads, rather than only writes. */
  readonly reads: boolean
  /** Whether it is declared as a list (`config.lists`): then its items may be selected from without a schema. */
  readonly isList: boolean
  /** Names that the member with the items of a list may have, the likeliest first. */
  readonly lists: readonly string[]
}

/**
 * Returns the names that the member with the items of a list may have: the one in the options, else the declared one and
 * those that the path ends in.
 *
 * @param declared the member of `config.lists`; `null` if the route does not declare a list
 */
export function listNames(
  path: string,
  { list }: FieldsRouteOptions,
  declared: string | null,
): readonly string[] {
  if (list === null) return []
  if (list !== undefined) return [list]
  const last = path.split('/').at(-1) ?? ''
  const ofPath = [last.replaceAll('-', '_'), joinWords(wordsOf(last), 'camelCase'), last]
  return declared === null ? ofPath : [declared, ...ofPath]
}

/** What selects the fields of a route's answers, and the paths that hidden fields go by. */
export interface Selectable {
  readonly selector: FieldSelector
  readonly hidden: ReadonlyMap<string, string>
}

/** An item that fields are selected from, and the members that lead to it. */
interface Item {
  readonly shape: Shape
  readonly within: readonly string[]
}

/**
 * What can be selected from answers of these shapes; `null` where they name no fields.
 *
 * @throws FST_CONV_OPTION_INVALID for options that name what the shapes do not have
 */
export function selectableOf(
  route: RouteFacts,
  options: ResolvedFields,
  answers: readonly Shape[],
): Selectable | null {
  const [answer] = answers
  if (answer === undefined || answers.length > 1) return newSelectable(route, options, answers)
  const ofOptions = known.get(options) ?? new WeakMap<Shape, Map<string, Selectable | null>>()
  known.set(options, ofOptions)
  const ofAnswer = ofOptions.get(answer) ?? new Map<string, Selectable | null>()
  ofOptions.set(answer, ofAnswer)
  const key = JSON.stringify([route.isList, route.lists])
  const before = ofAnswer.get(key)
  if (before !== undefined) return before
  const selectable = newSelectable(route, options, answers)
  ofAnswer.set(key, selectable)
  return selectable
}

// Routes without options of their own share those of the plugin, and a HEAD route has the shape of its GET route.
const known = new WeakMap<ResolvedFields, WeakMap<Shape, Map<string, Selectable | null>>>()

function newSelectable(
  route: RouteFacts,
  options: ResolvedFields,
  answers: readonly Shape[],
): Selectable | null {
  const { list, default: defaults = null } = options
  if (typeof list === 'string' && answers.length > 0 && !answers.some((top) => isListIn(top, list)))
    invalid(`${route.label}.list`, 'an array of the response schema', list)
  const all = answers.map((top) => itemOf(top, route.lists))
  const items = all.filter(({ shape }) => fieldNames(shape).length > 0)
  const item = items[0] ?? openItem(all, route)
  if (item === undefined) {
    refuseNames(route.label, options)
    return null
  }
  const selector = new FieldSelector(item.shape, item.within, options, defaults)
  const [unknown] = selector.unknown(defaults ?? [])
  if (unknown !== undefined) invalid(`${route.label}.default`, 'fields of the response schema', unknown)
  const hidden = Object.keys(options.hidden ?? {}).map((path): [string, string] => {
    const names = splitPath(path)
    const holder = items.find(({ shape }) => isField(shape, names))
    if (holder === undefined) return invalid(`${route.label}.hidden`, 'fields of the response schema', path)
    return [path, joinPath(canonicalPath(holder.shape, names))]
  })
  return { selector, hidden: new Map(hidden) }
}

function itemOf(top: Shape, lists: readonly string[]): Item {
  const list = lists.find((name) => isListIn(top, name))
  const within = list === undefined ? [] : [list]
  return { shape: shapeWithin(top, within) as Shape, within }
}

function isListIn(top: Shape, name: string): boolean {
  return isList(shapeWithin(top, [name]))
}

/** The item of a list whose schema does not name its fields. */
function openItem(items: readonly Item[], { isList: isDeclaredList, lists }: RouteFacts): Item | undefined {
  if (!isDeclaredList) return undefined
  if (items.length === 0) return { shape: anything, within: lists.slice(0, 1) }
  return items.find(({ shape }) => isField(shape, ['any name']))
}

// `hidden` and `default` need a response schema that names the fields.
function refuseNames(label: string, { hidden = {}, default: defaults }: ResolvedFields): void {
  const expected = 'none, for no response schema of success names the fields'
  const [path] = Object.keys(hidden)
  if (path !== undefined) invalid(`${label}.hidden`, expected, path)
  if (defaults !== undefined) invalid(`${label}.default`, expected, defaults)
}
