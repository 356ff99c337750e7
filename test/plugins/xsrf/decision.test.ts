/** Which requests are refused: the tables of docs/xsrf.md. */
import t from 'tap'
import { decideXsrf, type XsrfFacts, type XsrfRule } from '../../../src/plugins/xsrf/tokens.js'

type Fields = Readonly<Record<string, string>>
type Rows = readonly (readonly [about: string, fields: Fields, rule: XsrfRule | null])[]

const host = 'api.example'
const own = 'https://api.example'
const other = 'https://other.example'
const friend = 'https://app.example'
const facts: XsrfFacts = {
  method: 'POST',
  hasSession: true,
  login: false,
  requestedWith: true,
  origins: [friend],
  authority: () => host,
}

const site = (value: string, dest = 'empty') => ({ 'sec-fetch-site': value, 'sec-fetch-dest': dest })

t.test('unsafe methods: where the request is from, then the token', async (t) => {
  const rows: Rows = [
    ['fetch of the own page', { ...site('same-origin'), origin: own }, 'token'],
    ['a form of the own page, no referrer', { ...site('same-origin', 'document'), origin: 'null' }, 'token'],
    ['a form that the user has sent again', site('none', 'document'), 'token'],
    ['a page of another site', { ...site('cross-site'), origin: other }, 'origin'],
    ['a page of another host of the site', { ...site('same-site'), origin: 'https://b.example' }, 'origin'],
    ['a sandboxed page', { ...site('cross-site'), origin: 'null' }, 'origin'],
    ['a foreign page without Origin', site('cross-site'), 'origin'],
    ['an unknown site', site('other'), 'origin'],
    ['a page in origins', { ...site('cross-site'), origin: friend }, 'token'],
    ['an old browser, own page', { origin: own }, 'token'],
    ['an old browser, foreign page', { origin: other }, 'origin'],
    ['an old browser, sandboxed page', { origin: 'null' }, 'origin'],
    ['an old browser, a longer host', { origin: 'https://api.example.evil.example' }, 'origin'],
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
    for (const method of ['POST', 'DELETE', 'MKCOL', 'get']) {
      t.equal(decideXsrf({ host, ...fields }, { ...facts, method }), rule, `${method}: ${about}`)
    }
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
    ['an element of the own page', site('same-origin', 'script'), null],
    ['a link of the own page', site('same-origin', 'document'), null],
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
  t.equal(decideXsrf({ ...handshake, origin: own }, get), null)
  t.equal(decideXsrf({ ...handshake, origin: friend }, get), null)
  t.equal(decideXsrf({ ...handshake, origin: other }, get), 'origin')
  t.equal(decideXsrf({ host, 'sec-fetch-mode': 'websocket', origin: other }, get), 'origin')
  t.equal(decideXsrf({ ...handshake, upgrade: 'h2c, WebSocket', origin: other }, get), 'origin')
  t.equal(decideXsrf({ ...handshake, origin: other }, { ...get, hasSession: false }), null)
  t.equal(decideXsrf({ ...handshake, upgrade: 'h2c', origin: other }, get), 'requestedWith', 'none')
})
