import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { appSlot } from './slots.js'

type Fields = Readonly<Record<string, string>>

/** Header fields of a response, with TLS and without. */
export interface RawFields {
  readonly secure: Fields
  readonly plain: Fields
}

const rawFields = appSlot<RawFields>('rawFields')

/** Sets the header fields of responses on connections on which no request could be read. */
export function declareRawFields(app: FastifyInstance, fields: RawFields): void {
  if (rawFields.own(app) === undefined) rawFields.set(app, fields)
}

/** Returns the header fields of a response on a connection on which no request could be read. */
export function rawFieldsOf(app: FastifyInstance, socket: Duplex): Fields {
  const fields = rawFields.get(app)
  if (fields === undefined) return {}
  return 'encrypted' in socket ? fields.secure : fields.plain
}
