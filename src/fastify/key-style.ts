import type { FastifyInstance } from 'fastify'
import type { KeyStyle } from '../words/key-names.js'
import { appSlot } from './slots.js'

const keyStyle = appSlot<KeyStyle>('keyStyle')

/** Sets the key style of a context and of those below it. */
export function declareKeyStyle(app: FastifyInstance, style: KeyStyle): void {
  keyStyle.set(app, style)
}

/** Returns the key style of a context: its own, that of a context above it, or snake_case. */
export function keyStyleOf(app: FastifyInstance): KeyStyle {
  return keyStyle.get(app) ?? 'snake_case'
}
