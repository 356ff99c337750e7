import { bootErrors } from './boot-errors.js'

/** Loads a package that the app has to install, because only some conventions need it. */
export async function loadPeer<Module>(
  plugin: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error
    throw new bootErrors.FST_CONV_PACKAGE_MISSING(plugin, name)
  }
}
