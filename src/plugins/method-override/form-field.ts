/** The media type of the forms that browsers send without a script. */
export const formType = 'application/x-www-form-urlencoded'

/** The values of a form field, and the form without it. */
export interface TakenField {
  /** Its values, in order; empty if the form does not have it. */
  readonly values: readonly string[]
  /** The other pairs, with unchanged bytes. */
  readonly rest: string
}

/**
 * Splits a form (`application/x-www-form-urlencoded`) into the values of a field, however its name is encoded, and the
 * rest. Decode the form as Latin-1 and encode the rest as Latin-1, so that its bytes do not change.
 */
export function takeField(form: string, name: string): TakenField {
  if (!form.includes(name) && !form.includes('%')) return { values: [], rest: form }
  const values: string[] = []
  const kept: string[] = []
  for (const pair of form.split('&')) {
    const equals = pair.indexOf('=')
    const key = equals === -1 ? pair : pair.slice(0, equals)
    if (decoded(key) === name) values.push(equals === -1 ? '' : decoded(pair.slice(equals + 1)))
    else kept.push(pair)
  }
  return { values, rest: kept.join('&') }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
