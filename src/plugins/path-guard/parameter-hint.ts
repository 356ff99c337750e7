import { routePath } from '../../http/route-path.js'
import { clip } from '../../text.js'
import { areCollecting, crudMethod, crudNameOf } from './crud-words.js'

/**
 * Says what is wrong with a word in the place of a parameter, such as `list` in `/v1/users/list` and `me` where no route
 * takes it; `null` where the word is none that says anything.
 *
 * @param path the raw path of the request
 * @param pattern the path of its route
 * @param name of the parameter
 */
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
  const given = at === -1 ? [] : path.split('/', at + 2).slice(1)
  const word = given[at]
  if (word === undefined || word.length > maxWord) return null
  const collection = `/${given.slice(0, at).join('/')}`
  if (selfAliases.has(word)) {
    return `'${word}' stands for the caller in some routes, and not in ${clip(collection, maxShown)}`
  }
  if (crudNameOf(word, false, [])?.noun !== '') return null
  const method = crudMethod([word], ['POST, PUT, PATCH or DELETE']) ?? 'GET'
  const target = areCollecting([word]) ? collection : `${collection}/{${name}}`
  return `'${word}' says what the method says: ${method} ${clip(target, maxShown)}`
}

const maxWord = 40
const maxShown = 200
