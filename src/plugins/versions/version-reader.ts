import { pathOf } from '../../http/request-target.js'

/** The major version that a path has: the digits of its `/v<major>` segment; `null` for a path without one. */
export type ReadVersion = (target: string) => string | null

/**
 * A reader of the version, for request targets and for route patterns alike: the first segment below `basePath`.
 *
 * @param basePath `''` or a path such as `/api`
 */
export function versionReader(basePath: string): ReadVersion {
  const inFront = new RegExp(`^${basePath.replace(special, '\\$&')}/v(0|[1-9][0-9]*)(?:/|$)`)
  return (target) => inFront.exec(pathOf(target))?.[1] ?? null
}

const special = /[\\^$.*+?()[\]{}|]/g
