import { type KeyStyle, restyledKey } from '../words/key-names.js'

export function memberName(path: string, style: KeyStyle): string {
  const literals = path.split('/').filter((segment) => segment !== '' && !segment.includes(':'))
  const name = (literals.at(-1) ?? 'items').replaceAll('-', '_')
  return restyledKey(name, style) ?? name
}
