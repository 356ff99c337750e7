import { Readable } from 'node:stream'
import t from 'tap'
import { listenAlong } from '../../src/convention/raw-request.js'

t.test('each of several listeners hears each part of a body once, and its end', async (t) => {
  const payload = Readable.from([Buffer.from('{"id":'), Buffer.from('1}')])
  const heard = ['', '', ''].map((_, index) => {
    const one = { text: '', ends: 0, index }
    listenAlong(payload, {
      part: (part) => {
        one.text += String(part)
      },
      end: () => {
        one.ends += 1
      },
    })
    return one
  })
  let parsed = ''
  payload.on('data', (part) => {
    parsed += String(part)
  })
  await new Promise((resolve) => payload.once('end', resolve))
  t.equal(parsed, '{"id":1}')
  for (const { index, ...one } of heard) t.strictSame(one, { text: parsed, ends: 1 }, `listener ${index}`)
})

t.test('a body that no parser reads does not flow', async (t) => {
  const payload = Readable.from(['text'])
  listenAlong(payload, { part: () => t.fail('a part was heard'), end: () => t.fail('the end was heard') })
  await new Promise(setImmediate)
  t.equal(payload.readableFlowing, null)
})
