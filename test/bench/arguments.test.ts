import t from 'tap'
import { helpText, readArguments } from '../../bench/arguments.js'

const known = ['boot', 'item', 'list']
const read = (...args: string[]) => readArguments(args, known)

t.test('without arguments everything runs as it declares', async (t) => {
  t.same(read(), {
    help: false,
    page: false,
    names: null,
    quick: false,
    rounds: undefined,
    requests: undefined,
  })
})

t.test('arguments select scenarios and options', async (t) => {
  t.same(read('--only', 'item', '--rounds', '5', '--requests', '1000'), {
    help: false,
    page: false,
    names: ['item'],
    quick: false,
    rounds: 5,
    requests: 1000,
  })
  t.same(
    read('--only=list', '--only=item', '--only=list').names,
    ['list', 'item'],
    'each once, in that order',
  )
  t.equal(read('--help').help, true)
  t.equal(read('-h').help, true)
  t.equal(read('--page').page, true)
  t.equal(read('--quick').quick, true)
})

t.test('invalid arguments are refused', async (t) => {
  t.throws(() => read('--only', 'itme'), {
    message: "--only: expected one of boot, item, list, received 'itme'",
  })
  for (const value of ['0', '-1', '1.5', '1e3', 'many', '', '1001']) {
    t.throws(() => read(`--rounds=${value}`), {
      message: `--rounds: expected a whole number from 1 to 1000, received '${value}'`,
    })
  }
  t.throws(() => read('--requests', '1000001'), {
    message: /^--requests: expected a whole number from 1 to 1000000/,
  })
  t.throws(() => read('--round', '5'), { message: /--round/ })
  t.throws(() => read('item'), { message: /item/ })
})

t.test('the help names every scenario and option', async (t) => {
  for (const word of [...known, '--only', '--rounds', '--requests', '--help', '--quick', '--page'])
    t.match(helpText(known), word)
})
