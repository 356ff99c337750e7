import t from 'tap'
import { readPrefer } from '../../../src/plugins/operations/start.js'
import { superlinearSeeds } from '../../support/growth.js'

/** What is made of a field: `async` for `respond-async`, and the seconds to wait. */
function read(field: string) {
  const { respondAsync, wait } = readPrefer(field)
  return [...(respondAsync ? ['async'] : []), ...(wait === null ? [] : [wait])].join(' ')
}

const sections: Readonly<Record<string, readonly (readonly [field: string, read: string])[]>> = {
  '§2 one preference, with and without space around it': [
    ['  respond-async\t', 'async'],
    ['wait=10', '10'],
    ['wait\t= 10', '10'],
  ],
  '§2 several in one field, without case, also with empty elements': [
    ['WAIT=10,Respond-Async', 'async 10'],
    [', ,wait=10, ,', '10'],
    ['return=minimal, wait=2, handling=lenient', '2'],
  ],
  '§2 the first of the same name counts': [
    ['wait=3, WAIT=5', '3'],
    ['wait, wait=5', ''],
    ['wait=soon, wait=5', ''],
    ['respond-async=1, respond-async', ''],
  ],
  '§2 a value as a token or in quotes; an empty one is none': [
    ['wait="10"', '10'],
    ['wait=""', ''],
    ['wait="10', ''],
    ['respond-async=""', 'async'],
    ['respond-async=', 'async'],
  ],
  '§2 parameters change nothing': [
    ['wait=10; foo=bar', '10'],
    ['wait=10;foo="a, wait=20; b"', '10'],
    ['respond-async; wait=5', 'async'],
  ],
  '§2 what stands in quotes is text': [
    ['foo="respond-async, wait=5"', ''],
    ['foo="a\\", wait=5, \\"b", wait=6', '6'],
    ['foo="open\\", wait=5', ''],
  ],
  '§2 what is not known, or not written so, is as if it were not there': [
    ...['', 'wait', 'wait=-1', 'wait=1.5', 'wait=3 4', 'wait 3', '=5', '"wait"=5', 'respond-async: true'],
    ...['waiter=5, not-wait=6', 'wait=１０', '__proto__=5, constructor=6'],
  ].map((field) => [field, ''] as const),
  '§4.3 seconds, from zero to more than anyone waits': [
    ['wait=0', '0'],
    ['wait=007', '7'],
    [`wait=${'9'.repeat(400)}`, '1000000000'],
  ],
  'a field beyond 1,024 characters says nothing': [
    [`wait=3, foo=${'x'.repeat(1_012)}`, '3'],
    [`wait=3, foo=${'x'.repeat(1_013)}`, ''],
  ],
}

for (const [section, rows] of Object.entries(sections)) {
  t.test(section, async (t) => {
    for (const [field, expected] of rows) t.equal(read(field), expected, JSON.stringify(field.slice(0, 60)))
  })
}

t.test('no field at all says nothing, and several fields are one', async (t) => {
  t.strictSame(readPrefer(undefined), { respondAsync: false, wait: null })
  t.strictSame(readPrefer(['respond-async', 'wait=3']), { respondAsync: true, wait: 3 })
})

t.test('the time to read a field grows linearly with its length', async (t) => {
  const pieces = ['"', '\\', '"\\', ' ', '\t', ',', ';', '=', 'a', 'a=', 'a="', ';a="\\', 'a ', ', a', ';"']
  for (const end of ['', '"', '\u0000', 'x']) {
    const slow = await superlinearSeeds(pieces, (text) => readPrefer(`a${text}${end}`))
    t.strictSame(slow, [], JSON.stringify(end))
  }
})
