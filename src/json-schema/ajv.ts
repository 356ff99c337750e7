import type { Ajv, Options } from 'ajv'

let AjvClass: typeof Ajv | undefined

/** Loads Ajv, which not every app that imports this package needs. Call it before the first {@link newAjv}. */
export async function loadAjv(): Promise<void> {
  AjvClass ??= (await import('ajv')).Ajv
}

/**
 * Returns an Ajv that only tells whether a value is valid, and accepts any keyword.
 *
 * @throws TypeError if {@link loadAjv} has not been called
 */
export function newAjv(options: Options): Ajv {
  if (AjvClass === undefined) throw new TypeError('Ajv is not loaded')
  return new AjvClass({ strict: false, validateSchema: false, logger: false, ...options })
}
