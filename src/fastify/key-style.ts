import type { FastifyInstance } from 'fastify'
import type { KeyStyle } from '../words/key-names.js'
import { appSlot } from './slots.js'

const keyStyle = appSlot<KeyStyle>('keyStyle')

/** Says how the keys of a context, and of those below it, join their words. */
export function declareKeyStyle(app: FastifyInstance, style: KeyStyle): void {
  keyStyle.set(app, style)
}

/** How the keys of a context join their words: as was declared for it or above it, else in snake_case. */
export function keyStyleOf(app: FastifyInstance): KeyStyle {
  return keyStyle.get(app) ?? 'snake_case'
}
