import { routePath } from '../../http/route-path.js'
import { clip } from '../../text.js'
import { applyToCollection, crudMethod, crudNameOf } from './path-words.js'

/** Returns a hint for a parameter that is a CRUD word or an alias, such as `list` in `/v1/users/list`. */
export function parameterHint(
  path: string,
  pattern: string,
  name: string,
  selfAliases: ReadonlySet<string>,
): string | null {
  const segments = routePath(pattern)
  const at = segments.findIndex(
    ({ kind, text }) => kind === 'parameter' && /^:([^(?]*)/.exec(text)?.[1] === name,
  )
  const given = path.split('/', at + 2).slice(1)
  const word = given[at]
  if (word === undefined || word.length > maxWord) return null
  const collection = `/${given.slice(0, at).join('/')}`
  if (selfAliases.has(word)) {
    return `'${word}' stands for the caller in some routes, but not in ${clip(collection, maxShown)}`
  }
  if (crudNameOf(word, false, [])?.noun !== '') return null
  const method = crudMethod([word], ['POST, PUT, PATCH or DELETE']) ?? 'GET'
  const target = applyToCollection([word]) ? collection : `${collection}/{${name}}`
  return `'${word}' stands for a method: send ${method} ${clip(target, maxShown)}`
}

const maxWord = 40
const maxShown = 200
