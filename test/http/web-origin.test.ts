import t from 'tap'
import { webOrigin } from '../../src/http/url.js'

t.test('an origin has a scheme, a host and a port, as browsers write them, and nothing else', async (t) => {
  const origins =
    'https://app.example http://localhost:5173 https://[::1]:8443 https://xn--bcher-kva.example ' +
    'capacitor://localhost x-https://localhost:443 chrome-extension://abcdefghijklmnop'
  for (const origin of origins.split(' ')) t.equal(webOrigin('origin', origin), origin)
  const plain =
    'https://app.example/ https://app.example/path https://app.example? https://APP.example ' +
    'HTTPS://app.example https://app.example:443 http://app.example:80 https://user@app.example ' +
    'capacitor://localhost/ https://*.app.example https://bücher.example https:// app.example ' +
    '//app.example null'
  const others = [['https://app.example'], '', ' https://a.example', 'https://a.example, https://b.example']
  for (const other of [...plain.split(' '), ...others])
    t.throws(() => webOrigin('origin', other), /^origin: /, String(other))
})
