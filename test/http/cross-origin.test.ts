/** Where a request is from, as browsers tell: Fetch Metadata, Fetch ("`Origin` header"), RFC 6454. */
import t from 'tap'
import { isCrossOrigin } from '../../src/http/url.js'

type Fields = Readonly<Record<string, string | readonly string[]>>
type Cases = readonly (readonly [about: string, fields: Fields, isElsewhere: boolean])[]

const here = 'https://api.example'
const other = 'https://other.example'
const host = 'api.example'

t.test('a form without Sec-Fetch-Site and Origin is not cross-origin', (t) => {
  t.equal(isCrossOrigin({}, []), false)
  t.equal(isCrossOrigin({ host, 'x-forwarded-host': 'other.example', referer: other }, []), false)
  t.end()
})

t.test('Fetch Metadata: Sec-Fetch-Site decides if it is sent', (t) => {
  const cases: Cases = [
    ['a page of this origin', { 'sec-fetch-site': 'same-origin' }, false],
    ['no page: the user', { 'sec-fetch-site': 'none' }, false],
    ['another origin of the same site', { 'sec-fetch-site': 'same-site' }, true],
    ['another site', { 'sec-fetch-site': 'cross-site' }, true],
    ['no value', { 'sec-fetch-site': '' }, true],
    ['two values', { 'sec-fetch-site': 'same-origin, cross-site' }, true],
    [
      'a page of this origin with the referrer policy no-referrer',
      { 'sec-fetch-site': 'same-origin', origin: 'null', host },
      false,
    ],
    ['behind a proxy that changes Host', { 'sec-fetch-site': 'same-origin', origin: here, host: 'a' }, false],
  ]
  for (const [about, fields, isElsewhere] of cases) t.equal(isCrossOrigin(fields, []), isElsewhere, about)
  t.end()
})

t.test('RFC 6454 §7: without Sec-Fetch-Site, Origin has to have the host and port of the request', (t) => {
  const cases: Cases = [
    ['this origin', { origin: here, host }, false],
    ['another one', { origin: other, host }, true],
    ['RFC 9110 §4.2.3: a host in another case', { origin: here, host: 'API.Example' }, false],
    ['RFC 6454 §5: another port', { origin: `${here}:8443`, host }, true],
    ['RFC 6454 §4: the default port of the scheme', { origin: here, host: `${host}:443` }, false],
    ['a scheme is not compared', { origin: 'http://api.example', host }, false],
    ['a name that this one ends with', { origin: 'https://evil-api.example', host }, true],
    ['a name that begins with this one', { origin: 'https://api.example.evil.example', host }, true],
    ['a user that is called so', { origin: 'https://api.example@evil.example', host }, true],
    ['RFC 6454 §6.2: null', { origin: 'null', host }, true],
    ['null, to a host of that name', { origin: 'null', host: 'null' }, true],
    ['null, to what follows a scheme', { origin: 'null', host: '://null' }, true],
    ['an app with a scheme of its own', { origin: 'capacitor://api.example', host }, true],
    ['RFC 6454 §7.1: several', { origin: `${here} ${other}`, host }, true],
    ['a missing host', { origin: here }, true],
  ]
  for (const [about, fields, isElsewhere] of cases) t.equal(isCrossOrigin(fields, []), isElsewhere, about)
  t.end()
})

t.test('the authority is Host, :authority (RFC 9113 §8.3.1) or X-Forwarded-Host', (t) => {
  const inner = '10.0.0.7:3000'
  const cases: Cases = [
    [':authority', { origin: here, ':authority': host }, false],
    ['X-Forwarded-Host', { origin: here, host: inner, 'x-forwarded-host': host }, false],
    ['of several, the nearest', { origin: here, host: inner, 'x-forwarded-host': `a, ${host}` }, false],
    ['and not the first', { origin: here, host: inner, 'x-forwarded-host': `${host}, a` }, true],
    [
      'not the name behind the proxy',
      { origin: 'http://10.0.0.7:3000', host: inner, 'x-forwarded-host': host },
      true,
    ],
  ]
  for (const [about, fields, isElsewhere] of cases) t.equal(isCrossOrigin(fields, []), isElsewhere, about)
  t.end()
})

t.test('an origin in formOrigins is allowed, and no other', (t) => {
  const named = [other, 'capacitor://localhost']
  const cases: Cases = [
    ['named', { origin: other, host }, false],
    ['named, of another site', { origin: other, 'sec-fetch-site': 'cross-site', host }, false],
    ['an app', { origin: 'capacitor://localhost', 'sec-fetch-site': 'cross-site', host }, false],
    ['none, of another site', { 'sec-fetch-site': 'cross-site', host }, true],
    ['null', { origin: 'null', 'sec-fetch-site': 'cross-site', host }, true],
  ]
  for (const [about, fields, isElsewhere] of cases) {
    t.equal(isCrossOrigin(fields, named), isElsewhere, about)
  }
  t.end()
})
