import csrf from '@fastify/csrf'
import fc from 'fast-check'
import t from 'tap'
import { sessionOf, sessionTokens } from '../../../src/plugins/xsrf/tokens.js'

const secret = 'a secret of at least 32 characters'
const tokensWith = (...secrets: string[]) => sessionTokens(csrf.Tokens, secrets)

t.test('a token is valid for its session alone, in every instance with the secret', async () => {
  const [one, other, stranger] = [tokensWith(secret), tokensWith(secret), tokensWith(`${secret}!`)]
  const session = fc.string({ minLength: 1, maxLength: 200, unit: 'binary' })
  fc.assert(
    fc.property(session, session, (mine, yours) => {
      const token = one.create(mine)
      const valid = [one, one, other].every(({ isValid }) => isValid(token, mine))
      const isOfOther = stranger.isValid(token, mine) || (mine !== yours && other.isValid(token, yours))
      // It needs no encoding.
      return /^[\w-]{80,120}$/.test(token) && valid && !isOfOther
    }),
    { numRuns: 50 },
  )
})

t.test('a token that was changed anywhere is invalid', async (t) => {
  const tokens = tokensWith(secret)
  const token = tokens.create('session=1')
  const others = ['', '-', '--', '---', `${token}-`, `-${token}`, token.repeat(2), 'x'.repeat(1e6)]
  for (const [at, character] of [...token].entries()) {
    const start = token.slice(0, at)
    others.push(start, `${start}${character === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`)
  }
  for (const other of others) t.notOk(tokens.isValid(other, 'session=1'), other.slice(0, 100))
  t.notOk(tokens.isValid('', ''))
})

t.test('a token that was verified makes no other text valid', async (t) => {
  const tokens = tokensWith(secret)
  const session = 'session=1 session=2'
  const token = tokens.create(session)
  t.ok(tokens.isValid(token, session))
  for (let length = 1; length < session.length; length++) {
    const [start, rest] = [session.slice(0, length), session.slice(length)]
    for (const text of [`${token}${start}`, `${token} ${start}`, `${token} ${start.trimEnd()}`])
      t.notOk(tokens.isValid(text, rest.trimStart()), text)
  }
  t.notOk(tokens.isValid(token, 'session=1'))
})

t.test('tokens of an old secret stay valid while it is listed', async (t) => {
  const old = tokensWith(secret).create('session=1')
  const both = tokensWith(`new ${secret}`, secret)
  t.ok(both.isValid(old, 'session=1'))
  t.ok(tokensWith(`new ${secret}`).isValid(both.create('session=1'), 'session=1'), 'the first one signs')
  t.notOk(tokensWith(`new ${secret}`).isValid(old, 'session=1'))
  t.throws(() => tokensWith(), TypeError)
})

t.test('the session is the values of its cookies, all of them', async (t) => {
  const names = ['session', 'user']
  t.equal(sessionOf(names, 'user=2; session=1'), 'session=1;user=2', 'whatever their order')
  t.not(sessionOf(names, 'session=1; session=2'), sessionOf(names, 'session=1'))
  t.not(sessionOf(names, 'session=1;user=2'), sessionOf(names, 'session=1%3Buser%3D2'))
})

t.test('the session after a response: begun, ended, or as before', async (t) => {
  const names = ['session', 'user']
  const rows: readonly (readonly [set: string[], header: string | undefined, after: string | null])[] = [
    [[], 'session=1', 'session=1'],
    [['other=1'], 'session=1', 'session=1'],
    [['nonsense'], 'session=1', 'session=1'],
    [['session=2; Path=/'], undefined, 'session=2'],
    [['session=2; Path=/'], 'session=1', 'session=2'],
    [['session=2', 'session=3'], 'session=1', 'session=3'],
    [['session=2'], 'user=1; session=0', 'session=2;user=1'],
    [['session=; Max-Age=0'], 'session=1', null],
    [['session=x; Max-Age=0'], 'session=1; user=2', 'user=2'],
  ]
  for (const [set, header, after] of rows) t.equal(sessionOf(names, header, set), after, `${set} ${header}`)
})
