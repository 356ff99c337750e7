import t from 'tap'
import { readArguments } from '../../bench/arguments.js'
import { costOf, joined, ratioTo, runRounds, shares, summarize } from '../../bench/measure.js'
import { readResponse } from '../../bench/response-reader.js'

t.test('arguments select scenarios and options; invalid ones are refused', async (t) => {
  const read = (line: string) => readArguments(line.split(' '), ['boot', 'item', 'list'])
  const asked = { help: false, page: false, names: ['list', 'item'], quick: true, rounds: 5, requests: 1000 }
  t.match(read('--only=list --only item --only=list --quick --rounds 5 --requests 1000'), asked)
  t.match(read('--page'), { page: true, names: null, quick: false, rounds: undefined })
  for (const [line, message] of [
    ['--only itme', "--only: expected one of boot, item, list, received 'itme'"],
    ['--rounds=0', "--rounds: expected a whole number from 1 to 1000, received '0'"],
    ['--rounds=1.5', "--rounds: expected a whole number from 1 to 1000, received '1.5'"],
    ['--requests=1000001', "--requests: expected a whole number from 1 to 1000000, received '1000001'"],
  ] as const)
    t.throws(() => read(line), { message })
})

t.test('a response ends where its length or its last chunk says', async (t) => {
  const read = (text: string, method = 'GET') => readResponse(Buffer.from(text), method)
  const measured = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'
  const chunked =
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n'
  for (const whole of [measured, chunked]) {
    t.match(read(`${whole}HTTP/1.1`), { status: 200, end: whole.length }, 'what follows is not part of it')
    for (let cut = 0; cut < whole.length; cut++)
      t.equal(read(whole.slice(0, cut)), null, `incomplete after ${cut}`)
  }
  t.equal(read(measured)?.body.toString(), 'hello')
  t.equal(read('HTTP/1.1 304 Not Modified\r\nContent-Length: 400\r\n\r\n')?.body.length, 0)
  t.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n', 'HEAD')?.body.length, 0)
  t.throws(() => read('HTTP/1.1 200 OK\r\n\r\nhello'), /neither a length nor chunks/)
})

t.test('a cost is the mean of the cheapest third of the figures', async (t) => {
  const rows = [[3], [9, 10, 100], [100, 9, 10, 11], [90, 12, 14, 30, 40, 50]] as const
  t.same(rows.map(costOf), [3, 9, 9.5, 13], 'numbers are compared as numbers')
})

t.test('rounds interleave the variants, and each starts with another', async (t) => {
  const figures: Record<string, number[]> = { a: [1, 2, 3], b: [4, 5, 6], c: [7, 8, 9] }
  for (const [rounds, warmUps, firstTurn, order] of [
    [3, 0, 0, 'abcbcacab'],
    [1, 0, 2, 'cab'],
    [1, 1, 0, 'abcbca'],
  ] as const) {
    const calls: string[] = []
    const left = structuredClone(figures)
    const samples = await runRounds({
      variants: ['a', 'b', 'c'],
      warmUps,
      rounds,
      firstTurn,
      measure: async (variant) => calls.push(variant) && (left[variant]?.shift() ?? 0),
    })
    t.equal(calls.join(''), order)
    const counted = Object.entries(figures).map(([name, all]) => [name, all.slice(warmUps, warmUps + rounds)])
    t.same(samples, Object.fromEntries(counted), 'in the order of the rounds, without those that warm up')
  }
  t.same([shares(21, 3), shares(7, 3), shares(1, 3)], [[3, 3, 3, 3, 3, 3, 3], [2, 2, 3], [1]])
})

t.test('a ratio is that of the costs; how far it reaches is taken within a round', async (t) => {
  // The machine was ten times slower in the second round.
  const runs = [
    { bare: [10, 100], preset: [11, 110] },
    { bare: [20], preset: [44] },
  ]
  t.same(summarize(joined(runs), 'bare'), [
    { variant: 'bare', cost: 10, ratio: { value: 1, min: 1, max: 1 } },
    { variant: 'preset', cost: 11, ratio: { value: 1.1, min: 1.1, max: 2.2 } },
  ])
  const fewer = { message: "'preset' has 1 figures, 'bare' 2" }
  t.throws(() => ratioTo({ bare: [1, 2], preset: [1] }, 'preset', 'bare'), fewer)
  const free = { message: "'bare' cost nothing in round 2: run longer rounds" }
  t.throws(() => ratioTo({ bare: [1, 0], preset: [1, 1] }, 'preset', 'bare'), free)
})
