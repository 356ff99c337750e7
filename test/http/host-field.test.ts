/** RFC 9112 §3.2, RFC 3986 §3.2.2: what a Host field may be. */
import t from 'tap'
import { isHostValue } from '../../src/http/header-fields.js'
import { superlinearSeeds } from '../support/growth.js'

t.test('a valid Host is a name or an address, with or without a port', async (t) => {
  const names = ['', 'a', 'a:', 'A.example:8080', 'a_b', '%41', "!$&'()*+,;="]
  const addresses = ['127.0.0.1', '[::1]', '[::1]:3000', '[v1a.a:b]']
  const noNames = ['a b', 'u@h', 'h:abc', 'h:80:80', 'a/b', 'a?b', 'a#b', '%4', 'a, b', 'é', 'a\\b', '"a"']
  for (const host of [...names, ...addresses]) t.ok(isHostValue(host), host)
  for (const host of [...noNames, '[::1', '::1', '[]', '[v1.]']) t.notOk(isHostValue(host), host)
})

t.test('the time that a value takes is linear in its length', async (t) => {
  t.strictSame(await superlinearSeeds(['a', '%41', '[', ':', '[v1.', '1.', '%'], isHostValue), [])
})
