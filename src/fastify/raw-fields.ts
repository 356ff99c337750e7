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

export function declareRawFields(app: FastifyInstance, fields: RawFields): void {
  if (rawFields.own(app) === undefined) rawFields.set(app, fields)
}

export function rawFieldsOf(app: FastifyInstance, socket: Duplex): Fields {
  const fields = rawFields.get(app)
  if (fields === undefined) return {}
  return 'encrypted' in socket ? fields.secure : fields.plain
}
