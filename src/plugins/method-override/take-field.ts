/** What a form says of one of its fields, and the form without that field. */
export interface TakenField {
  /** Its values, in their order; empty where the form does not have it. */
  readonly values: readonly string[]
  /** The pairs that are left, as they were written. */
  readonly rest: string
}

/**
 * Takes a field out of a form (`application/x-www-form-urlencoded`), however its name is encoded. The rest keeps its
 * bytes: give the form as Latin-1, and turn the rest back the same way.
 */
export function takeField(form: string, name: string): TakenField {
  if (!form.includes(name) && !form.includes('%') && !form.includes('+')) return { values: [], rest: form }
  const values: string[] = []
  const kept: string[] = []
  for (const pair of form.split('&')) {
    const equals = pair.indexOf('=')
    const key = equals === -1 ? pair : pair.slice(0, equals)
    if (key === name || decoded(key) === name)
      values.push(equals === -1 ? '' : decoded(pair.slice(equals + 1)))
    else kept.push(pair)
  }
  return { values, rest: values.length === 0 ? form : kept.join('&') }
}

const encoded = /[%+]/

function decoded(text: string): string {
  if (!encoded.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
