import t from 'tap'
import { helpText, readArguments } from '../../bench/arguments.js'

const known = ['boot', 'item', 'list']
const read = (...args: string[]) => readArguments(args, known)
const none = { help: false, page: false, names: null, quick: false, rounds: undefined, requests: undefined }

t.test('arguments select scenarios and options; without any, everything runs as it declares', async (t) => {
  for (const [args, expected] of [
    ['', {}],
    ['--only item --rounds 5 --requests 1000', { names: ['item'], rounds: 5, requests: 1000 }],
    ['--only=list --only=item --only=list', { names: ['list', 'item'] }],
    ['--help', { help: true }],
    ['-h', { help: true }],
    ['--page --quick', { page: true, quick: true }],
  ] as const)
    t.same(read(...args.split(' ').filter((arg) => arg !== '')), { ...none, ...expected }, args)
  for (const word of [...known, '--only', '--rounds', '--requests', '--help', '--quick', '--page'])
    t.match(helpText(known), word, 'the help names it')
})

t.test('invalid arguments are refused', async (t) => {
  const message = "--only: expected one of boot, item, list, received 'itme'"
  t.throws(() => read('--only', 'itme'), { message })
  for (const value of ['0', '-1', '1.5', '1e3', 'many', '', '1001']) {
    const message = `--rounds: expected a whole number from 1 to 1000, received '${value}'`
    t.throws(() => read(`--rounds=${value}`), { message })
  }
  t.throws(() => read('--requests', '1000001'), /^--requests: expected a whole number from 1 to 1000000/)
  t.throws(() => read('--round', '5'), { message: /--round/ })
  t.throws(() => read('item'), { message: /item/ })
})
