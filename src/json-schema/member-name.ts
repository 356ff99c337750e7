import { type KeyStyle, restyledKey } from '../words/key-names.js'

/**
 * The member that holds the items of a list, unless a route names it: the last literal segment of the path pattern, in
 * the style of the API's keys; `items` where there is none.
 */
export function memberName(path: string, style: KeyStyle): string {
  const literals = path.split('/').filter((segment) => segment !== '' && !segment.includes(':'))
  const name = (literals.at(-1) ?? 'items').replaceAll('-', '_')
  return restyledKey(name, style) ?? name
}
