import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { RawRequest } from '../../../src/convention/exchange.js'
import { pendingBodies, readAhead } from '../../../src/plugins/method-override/read-ahead.js'

const unbounded = pendingBodies({ bodies: 100, bytes: 1e6, time: 1e6 }, () => () => {})

/** A request whose body comes when the test pushes it. */
function rawRequest(): RawRequest {
  const stream = new Readable({ read() {} })
  return Object.assign(stream, { headers: {}, httpVersionMajor: 1, aborted: false }) as unknown as RawRequest
}

function reading(raw: RawRequest, limit: number, change = (bytes: Buffer) => bytes) {
  return new Promise<unknown>((resolve) => {
    let seen: unknown[] = []
    readAhead(raw, limit, unbounded, {
      take(bytes, outcome) {
        seen = [String(bytes), outcome]
        return change(bytes)
      },
      proceed: () => resolve(seen),
      abandon: () => resolve('abandoned'),
    })
  })
}

const turn = () => new Promise(setImmediate)

t.test('a body is read up to the limit, can be read again or replaced, and no byte is lost', async (t) => {
  const other = () => Buffer.from('else')
  for (const [pieces, limit, outcome, bytes, expected, change] of [
    [['a', 'b', 'c', null], 3, 'whole', 'abc', 'abc', undefined],
    [['ab', null], 3, 'whole', 'ab', 'else', other],
    [['a', 'b', 'c', 'd'], 3, 'large', 'abcd', 'abcd!', undefined],
    [[null], 0, 'whole', '', '', undefined],
  ] as const) {
    for (const isSlow of [true, false]) {
      const raw = rawRequest()
      const read = reading(raw, limit, change)
      for (const piece of pieces) {
        if (isSlow) await turn()
        raw.push(piece)
      }
      t.strictSame(await read, [bytes, outcome], pieces.join())
      if (isSlow) await turn()
      if (outcome === 'large') for (const piece of ['!', null]) raw.push(piece)
      if (expected !== '') t.equal(await text(raw), expected, `${pieces.join()}, slow: ${isSlow}`)
    }
  }
})

t.test('an aborted request is reported once, in each of its forms', async (t) => {
  const ways: Record<string, (raw: RawRequest) => unknown> = {
    destroyed: (raw) => raw.destroy(),
    'destroyed with an error': (raw) => raw.destroy(new Error('reset')),
    aborted: (raw) => raw.emit('aborted'),
    'ended as if whole, as HTTP/2 does it': (raw) => Object.assign(raw, { aborted: true }).push(null),
  }
  for (const [about, giveUp] of Object.entries(ways)) {
    const raw = rawRequest()
    // As Node does it: without somebody who listens there is no error.
    raw.on('error', () => {})
    const read = reading(raw, 100)
    raw.push('abc')
    await turn()
    giveUp(raw)
    t.equal(await read, 'abandoned', about)
    t.equal(raw.listenerCount('readable') + raw.listenerCount('aborted'), 0, `${about}: no listener is left`)
  }
})

t.test('bodies that are no longer awaited leave no listener or timer', async (t) => {
  const timers = new Set<() => void>()
  const pending = pendingBodies({ bodies: 2, bytes: 10, time: 1000 }, (run) => {
    timers.add(run)
    return () => void timers.delete(run)
  })
  const expired: string[] = []
  const begin = (name: string, ...pieces: readonly string[]): RawRequest => {
    const raw = rawRequest()
    readAhead(raw, 100, pending, {
      take: (bytes, outcome) => {
        if (outcome === 'whole') return Buffer.from('taken')
        expired.push(`${name} ${bytes}`)
        return Buffer.alloc(0)
      },
      proceed: () => {},
      abandon: () => {},
    })
    for (const piece of pieces) raw.push(piece)
    return raw
  }
  begin('first', 'aaa')
  await turn()
  begin('second', 'bbb')
  await turn()
  t.strictSame(expired, [])

  const third = begin('third', 'c')
  t.strictSame(expired, ['first aaa'], 'of too many the oldest goes')
  third.push(null)
  await turn()
  const fourth = begin('fourth', 'ddddddd')
  await turn()
  t.strictSame(expired, ['first aaa'], 'as many bytes as are allowed; complete bodies do not count')
  fourth.push('d')
  await turn()
  t.strictSame(expired, ['first aaa', 'second bbb'], 'of too many bytes the oldest goes')

  for (const run of [...timers]) run()
  t.strictSame(expired.slice(2), ['fourth dddddddd'], 'of too much time, once')
  t.equal(timers.size, 0, 'no timer is left')
})
