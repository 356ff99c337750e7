import { fileURLToPath } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type conventions from '../../src/index.js'

type Options = Parameters<typeof conventions>[1]

/** An app with other plugins. */
export interface SetUp {
  /** Registers the plugins. */
  readonly register: (app: FastifyInstance, upstream: string) => Promise<unknown>
  /** Declares the routes that use the plugins, after the conventions and the plugins. */
  readonly routes?: (app: FastifyInstance) => unknown
  /** Requests beside those of the service. */
  readonly requests?: Readonly<Record<string, InjectOptions>>
  /** Options of the conventions, as `docs/beside-other-plugins.md` has them. */
  readonly options?: Options
  /** The conventions that leave their work to one of the plugins, and the routes for which they do. */
  readonly overlaps?: Readonly<Partial<Record<keyof Options, string>>>
  /** The requests whose responses depend on the order: the conventions see none that an earlier plugin has answered. */
  readonly dependsOnOrder?: readonly string[] | 'all'
  /** What `enforce` takes away, by request: what the documentation says. */
  readonly changes?: Readonly<Record<string, readonly string[]>>
}

/** Returns the path of a folder beside this file. */
export const folder = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export const secret = 'a secret of at least thirty-two characters'
export const form = { 'content-type': 'application/x-www-form-urlencoded' }
