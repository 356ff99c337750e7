import t from 'tap'
import { isWebOrigin } from '../../src/http/url.js'

t.test('an origin has a scheme, a host and a port, as browsers write them, and nothing else', async (t) => {
  const origins = [
    'https://app.example',
    'http://localhost:5173',
    'https://[::1]:8443',
    'https://xn--bcher-kva.example',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnop',
  ]
  for (const origin of origins) t.ok(isWebOrigin(origin), origin)
  const others = [
    'https://app.example/',
    'https://app.example/path',
    'https://app.example?',
    'https://APP.example',
    'HTTPS://app.example',
    'https://app.example:443',
    'http://app.example:80',
    'https://user@app.example',
    'https://*.app.example',
    'https://bücher.example',
    'https://',
    'app.example',
    '//app.example',
    'null',
    '',
    ' https://app.example',
    'https://app.example, https://b.example',
  ]
  for (const other of others) t.notOk(isWebOrigin(other), other)
})
