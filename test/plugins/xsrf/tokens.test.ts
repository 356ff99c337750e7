import csrf from '@fastify/csrf'
import fc from 'fast-check'
import t from 'tap'
import { decideXsrf, sessionOf, sessionTokens, type XsrfRule } from '../../../src/plugins/xsrf/tokens.js'
import { inRuns } from '../../support/property.js'

const secret = 'a secret of at least 32 characters'
const tokensWith = (...secrets: string[]) => sessionTokens(csrf.Tokens, secrets)

t.test('a token is valid for its session alone, in every instance with the secret', async () => {
  const [one, other, stranger] = [tokensWith(secret), tokensWith(secret), tokensWith(`${secret}!`)]
  const session = fc.string({ minLength: 1, maxLength: 200, unit: 'binary' })
  inRuns(50, session, session, (mine, yours) => {
    const token = one.create(mine)
    const valid = [one, one, other].every(({ isValid }) => isValid(token, mine))
    const isOfOther = stranger.isValid(token, mine) || (mine !== yours && other.isValid(token, yours))
    // It needs no encoding.
    return /^[\w-]{80,120}$/.test(token) && valid && !isOfOther
  })
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
  for (const [set, header, after] of [
    [[], 'session=1', 'session=1'],
    [['other=1'], 'session=1', 'session=1'],
    [['nonsense'], 'session=1', 'session=1'],
    [['session=2; Path=/'], undefined, 'session=2'],
    [['session=2; Path=/'], 'session=1', 'session=2'],
    [['session=2', 'session=3'], 'session=1', 'session=3'],
    [['session=2'], 'user=1; session=0', 'session=2;user=1'],
    [['session=; Max-Age=0'], 'session=1', null],
    [['session=x; Max-Age=0'], 'session=1; user=2', 'user=2'],
  ] as const)
    t.equal(sessionOf(names, header, set), after, `${set} ${header}`)
})

type Fields = Readonly<Record<string, string>>
type Rows = readonly (readonly [about: string, fields: Fields, rule: XsrfRule | null])[]

const host = 'api.example'
const own = 'https://api.example'
const other = 'https://other.example'
const friend = 'https://app.example'
const origins = { origins: [friend], authority: () => host }
const facts = { method: 'POST', hasSession: true, login: false, requestedWith: true, ...origins }

const site = (value: string, dest = 'empty') => ({ 'sec-fetch-site': value, 'sec-fetch-dest': dest })

t.test('unsafe methods: where the request is from, then the token', async (t) => {
  const rows: Rows = [
    ['fetch of the own page', { ...site('same-origin'), origin: own }, 'token'],
    ['a form of the own page, no referrer', { ...site('same-origin', 'document'), origin: 'null' }, 'token'],
    ['a form that the user has sent again', site('none', 'document'), 'token'],
    ['a page of another site', { ...site('cross-site'), origin: other }, 'origin'],
    ['a page of another host of the site', { ...site('same-site'), origin: 'https://b.example' }, 'origin'],
    ['an unknown site', site('other'), 'origin'],
    ['a page in origins', { ...site('cross-site'), origin: friend }, 'token'],
    ['an old browser, own page', { origin: own }, 'token'],
    ['an old browser, foreign page', { origin: other }, 'origin'],
    ['an older browser, own page', { referer: `${own}/form` }, 'token'],
    ['an older browser, foreign page', { referer: `${other}/api.example` }, 'origin'],
    ['an older browser, page in origins', { referer: `${friend}/form` }, 'token'],
    ['an older browser, no URL', { referer: 'nonsense' }, 'origin'],
    ['an older browser, the host as user', { referer: 'https://api.example@other.example/' }, 'origin'],
    ['Origin precedes Referer', { origin: own, referer: other }, 'token'],
    ['Sec-Fetch-Site precedes Referer', { ...site('same-origin'), referer: other }, 'token'],
    ['a client that is no browser', {}, 'token'],
  ]
  for (const [about, fields, rule] of rows) {
    for (const method of ['POST', 'DELETE', 'MKCOL', 'get'])
      t.equal(decideXsrf({ host, ...fields }, { ...facts, method }), rule, `${method}: ${about}`)
    const without = { ...facts, hasSession: false }
    t.equal(decideXsrf({ host, ...fields }, without), null, `without the cookie: ${about}`)
    const expected = rule === 'token' ? null : rule
    for (const hasSession of [true, false]) {
      const login = { ...facts, hasSession, login: true }
      t.equal(decideXsrf({ host, ...fields }, login), expected, `login: ${about}`)
    }
  }
})

t.test('reads: a page of another origin cannot use the response', async (t) => {
  const rows: Rows = [
    ['fetch of the own page', site('same-origin'), null],
    ['a URL that the user types', site('none', 'document'), null],
    ['fetch of another page: CORS decides', { ...site('cross-site'), 'sec-fetch-mode': 'cors' }, null],
    ['EventSource of another host of the site', { ...site('same-site'), 'sec-fetch-mode': 'cors' }, null],
    ['a foreign service worker', { ...site('cross-site'), 'sec-fetch-mode': 'no-cors' }, 'requestedWith'],
    ['a destination without a mode', site('cross-site'), 'requestedWith'],
    ['a script by CORS', { ...site('cross-site', 'script'), 'sec-fetch-mode': 'cors' }, 'requestedWith'],
    ['a service worker of the own page', { ...site('same-origin'), 'sec-fetch-mode': 'no-cors' }, null],
    ['X-Requested-With', { 'x-requested-with': 'XMLHttpRequest' }, null],
    ['X-Requested-With: CORS decides', { ...site('cross-site', 'script'), 'x-requested-with': 'x' }, null],
    ['a client that is no browser, or an old one', {}, 'requestedWith'],
    ['an empty X-Requested-With', { 'x-requested-with': '' }, 'requestedWith'],
    ['an unknown site', site('other', 'document'), 'requestedWith'],
    ...['script', 'document', ''].flatMap(
      (dest): Rows => [
        [`cross-site ${dest}`, site('cross-site', dest), 'requestedWith'],
        [`same-site ${dest}`, site('same-site', dest), 'requestedWith'],
      ],
    ),
  ]
  for (const [about, fields, rule] of rows) {
    for (const method of ['GET', 'HEAD']) {
      t.equal(decideXsrf({ host, ...fields }, { ...facts, method }), rule, `${method}: ${about}`)
      t.equal(decideXsrf({ host, ...fields }, { ...facts, method, hasSession: false }), null, 'no cookie')
      t.equal(decideXsrf({ host, ...fields }, { ...facts, method, requestedWith: false }), null, 'a page')
    }
    for (const method of ['OPTIONS', 'TRACE']) t.equal(decideXsrf(fields, { ...facts, method }), null, method)
  }
})

t.test('a WebSocket handshake is refused from other origins', async (t) => {
  const handshake = { host, upgrade: 'websocket', connection: 'Upgrade' }
  const get = { ...facts, method: 'GET' }
  for (const origin of [own, friend]) t.equal(decideXsrf({ ...handshake, origin }, get), null)
  t.equal(decideXsrf({ ...handshake, origin: other }, get), 'origin')
  t.equal(decideXsrf({ host, 'sec-fetch-mode': 'websocket', origin: other }, get), 'origin')
  t.equal(decideXsrf({ ...handshake, upgrade: 'h2c, WebSocket', origin: other }, get), 'origin')
  t.equal(decideXsrf({ ...handshake, origin: other }, { ...get, hasSession: false }), null)
  t.equal(decideXsrf({ ...handshake, upgrade: 'h2c', origin: other }, get), 'requestedWith', 'none')
})
