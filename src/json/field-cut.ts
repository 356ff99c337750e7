import type { FieldTree } from './field-tree.js'

/** What is left of a value. */
export interface FieldCut {
  /** The fields that are left; `null` for all. */
  readonly only: FieldTree | null
  /** The fields that are not, whatever `only` says; `null` for none. */
  readonly without: FieldTree | null
}

/** The cut that leaves all. */
export const whole: FieldCut = Object.freeze({ only: null, without: null })

/**
 * What a cut leaves of a member: {@link whole}, a part of it, or `null` for nothing.
 *
 * @param alias another name by which it may be asked for
 */
export function cutOf({ only, without }: FieldCut, name: string, alias = name): FieldCut | null {
  const hidden = without?.get(name)
  if (hidden === true) return null
  const asked = only === null ? true : (only.get(name) ?? only.get(alias))
  if (asked === undefined) return null
  return asked === true && hidden === undefined
    ? whole
    : { only: asked === true ? null : asked, without: hidden ?? null }
}

/** Does a cut take a field away by its name, or something that the field is in? */
export function isHidden(without: FieldTree | null, path: readonly string[]): boolean {
  let at: FieldTree | true | undefined = without ?? undefined
  for (const name of path) {
    if (at === undefined || at === true) break
    at = at.get(name)
  }
  return at === true
}
