import { randomFillSync } from 'node:crypto'

const length = 16
const drawn = Buffer.allocUnsafeSlow(length * 256)
let used = drawn.length

/**
 * A new id: 128 random bits as 32 hexadecimal digits. They are drawn for many at once, for each draw is a call into native
 * code; `randomUUID`, which does so too, has six bits fewer.
 */
export function newOperationId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += length
  return drawn.toString('hex', used - length, used)
}

/** Can it be the id of an operation? */
export function isOperationId(text: string): boolean {
  return form.test(text)
}

const form = /^[0-9a-f]{32}$/
