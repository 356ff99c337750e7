import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'

type Fields = Readonly<Record<string, string>>

/** Header fields of an answer, which may differ between a connection with TLS and one without. */
export interface RawFields {
  readonly secure: Fields
  readonly plain: Fields
}

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const key = Symbol.for('fastify-conventions.rawFields')

/** Declares the header fields of answers on connections on which no request could be read. */
export function declareRawFields(app: FastifyInstance, fields: RawFields): void {
  if (!Object.hasOwn(app, key)) app.decorate(key, fields)
}

/** Returns the header fields of an answer on a connection on which no request could be read. */
export function rawFieldsOf(app: FastifyInstance, socket: Duplex): Fields {
  const { [key]: fields } = app as { readonly [key]?: RawFields }
  if (fields === undefined) return {}
  return 'encrypted' in socket ? fields.secure : fields.plain
}
