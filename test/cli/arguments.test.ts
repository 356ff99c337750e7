/** The arguments of `fastify-conventions check`. */
import t from 'tap'
import { readArguments } from '../../src/cli/arguments.js'
import { documentState } from '../../src/cli/document.js'

const defaults = { file: 'app.js', format: 'table', mode: 'report', timeout: 60 }

t.test('valid arguments', async (t) => {
  for (const [args, expected] of [
    ['check app.js', defaults],
    ['check app.js --format json', { ...defaults, format: 'json' }],
    ['--format=github check app.js', { ...defaults, format: 'github' }],
    ['check app.js --mode enforce --timeout 5', { ...defaults, mode: 'enforce', timeout: 5 }],
    ['--help', 'help'],
    ['check -h', 'help'],
  ] as const)
    t.strictSame(readArguments(args.split(' ')), expected, args)
})

t.test('invalid arguments', async (t) => {
  t.match(readArguments([]), { error: /expected the command check, received none/ })
  for (const [args, error] of [
    ['lint app.js', /expected the command check, received lint/],
    ['check', /expected one file/],
    ['check a.js b.js', /expected one file/],
    ['check a.js --format yaml', /--format: expected one of table, json, github, received yaml/],
    ['check a.js --mode off', /--mode: expected one of report, enforce, received off/],
    ['check a.js --timeout 0', /--timeout: expected seconds/],
    ['check a.js --timeout soon', /--timeout: expected seconds/],
    ['check a.js --fix', /--fix/],
  ] as const)
    t.match(readArguments(args.split(' ')), { error }, args)
})

t.test('the state of the OpenAPI document', async (t) => {
  const paths = { '/v1/users': { get: {}, post: {}, parameters: [] }, '/v1/old': { get: {} } }
  const made = (document: object) => documentState(() => document, true)
  t.strictSame(made({ openapi: '3.1.0', paths }), { isBroken: false, text: '3.1.0, 3 operations' })
  t.equal(made({ swagger: '2.0', paths: { '/v1/old': paths['/v1/old'] } }).text, '2.0, 1 operation')
  const none = documentState(undefined, true)
  t.match(none, { isBroken: false, text: /^none, @fastify\/swagger is not registered/ })
  const stopped = documentState(() => ({}), false)
  t.match(stopped, { isBroken: false, text: /^not made, because findings stop/ })
  const broken = documentState(() => {
    throw new Error('no such schema')
  }, true)
  t.strictSame(broken, { isBroken: true, text: 'cannot be made: no such schema' })
})
