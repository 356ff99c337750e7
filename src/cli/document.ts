import { METHODS } from 'node:http'
import { counted } from '../text.js'

export interface DocumentState {
  /** Whether the plugin that makes it has thrown. */
  readonly isBroken: boolean
  readonly text: string
}

/** @param isReady whether no finding has stopped the boot */
export function documentState(make: (() => unknown) | undefined, isReady: boolean): DocumentState {
  if (make === undefined) return { isBroken: false, text: 'none, @fastify/swagger is not registered' }
  if (!isReady) return { isBroken: false, text: 'not made, because findings stop the boot' }
  try {
    const { openapi, swagger, paths = {} } = make() as Document
    const operations = Object.values(paths)
      .flatMap(Object.keys)
      .filter((name) => METHODS.includes(name.toUpperCase()))
    return { isBroken: false, text: `${openapi ?? swagger}, ${counted(operations.length, 'operation')}` }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { isBroken: true, text: `cannot be made: ${message}` }
  }
}

interface Document {
  readonly openapi?: unknown
  readonly swagger?: unknown
  readonly paths?: Readonly<Record<string, object>>
}
