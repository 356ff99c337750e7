/** What was read before a request is routed is there for those who read it afterwards. */
import { Readable } from 'node:stream'
import t from 'tap'
import type { RawRequest } from '../../../src/adapter/method-override/raw-request.js'
import { type ReadAhead, readAhead } from '../../../src/adapter/method-override/read-ahead.js'

/** A request whose body comes when the test pushes it. */
function rawRequest(): RawRequest {
  const stream = new Readable({ read() {} })
  return Object.assign(stream, { headers: {}, httpVersionMajor: 1, aborted: false }) as unknown as RawRequest
}

function reading(raw: RawRequest, limit: number, change: (bytes: Buffer) => Buffer = (bytes) => bytes) {
  return new Promise<ReadAhead | 'given up'>((resolve) => {
    let seen: ReadAhead | undefined
    readAhead(raw, limit, {
      take(read) {
        seen = read
        return change(read.bytes)
      },
      proceed: () => seen !== undefined && resolve(seen),
      abandon: () => resolve('given up'),
    })
  })
}

async function rest(raw: RawRequest): Promise<string> {
  let text = ''
  for await (const chunk of raw) text += String(chunk)
  return text
}

t.test('a whole body is read once it is there, and read again', async (t) => {
  const raw = rawRequest()
  const read = reading(raw, 100)
  for (const piece of ['a', 'bc', 'def', null]) {
    await new Promise(setImmediate)
    raw.push(piece)
  }
  t.match(await read, { bytes: Buffer.from('abcdef'), isWhole: true })
  await new Promise(setImmediate)
  t.equal(await rest(raw), 'abcdef', 'even a turn later')
})

t.test('what is put back may be something else', async (t) => {
  const raw = rawRequest()
  const read = reading(raw, 100, () => Buffer.from('else'))
  raw.push('abcdef')
  raw.push(null)
  await read
  t.equal(await rest(raw), 'else')
})

t.test('up to the limit and no further', async (t) => {
  for (const [pieces, isWhole] of [
    [['abc'], true],
    [['a', 'b', 'c'], true],
    [['abcd'], false],
    [['a', 'b', 'c', 'd'], false],
  ] as const) {
    const raw = rawRequest()
    const read = reading(raw, 3)
    for (const piece of pieces) raw.push(piece)
    if (isWhole) raw.push(null)
    t.match(await read, { isWhole }, pieces.join())
    if (!isWhole) {
      raw.push('!')
      raw.push(null)
    }
    t.equal(await rest(raw), pieces.join('') + (isWhole ? '' : '!'), 'nothing is lost')
  }
})

t.test('no body at all is a whole one', async (t) => {
  const early = rawRequest()
  early.push(null)
  t.match(await reading(early, 3), { bytes: Buffer.alloc(0), isWhole: true })
  const late = rawRequest()
  const read = reading(late, 0)
  await new Promise(setImmediate)
  late.push(null)
  t.match(await read, { bytes: Buffer.alloc(0), isWhole: true })
})

t.test('a client that gives up is told of once, in each of the ways it shows', async (t) => {
  const ways: readonly (readonly [about: string, giveUp: (raw: RawRequest) => void])[] = [
    ['destroyed', (raw) => raw.destroy()],
    ['destroyed with an error', (raw) => raw.destroy(new Error('reset'))],
    ['aborted', (raw) => raw.emit('aborted')],
    [
      'ended as if whole, as HTTP/2 does it',
      (raw) => {
        Object.assign(raw, { aborted: true })
        raw.push(null)
      },
    ],
  ]
  for (const [about, giveUp] of ways) {
    const raw = rawRequest()
    // As Node does it: without somebody who listens there is no error.
    raw.on('error', () => {})
    const read = reading(raw, 100)
    raw.push('abc')
    await new Promise(setImmediate)
    giveUp(raw)
    t.equal(await read, 'given up', about)
    t.equal(
      raw.listenerCount('readable') + raw.listenerCount('aborted'),
      0,
      `${about}: nobody listens any more`,
    )
  }
})
