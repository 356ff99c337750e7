import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { appSlot } from './slots.js'

type Fields = Readonly<Record<string, string>>

/** Header fields of an answer, which may differ between a connection with TLS and one without. */
export interface RawFields {
  readonly secure: Fields
  readonly plain: Fields
}

const rawFields = appSlot<RawFields>('rawFields')

/** Declares the header fields of answers on connections on which no request could be read. */
export function declareRawFields(app: FastifyInstance, fields: RawFields): void {
  if (rawFields.own(app) === undefined) rawFields.set(app, fields)
}

/** Returns the header fields of an answer on a connection on which no request could be read. */
export function rawFieldsOf(app: FastifyInstance, socket: Duplex): Fields {
  const fields = rawFields.get(app)
  if (fields === undefined) return {}
  return 'encrypted' in socket ? fields.secure : fields.plain
}
