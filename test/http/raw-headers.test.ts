import t from 'tap'
import { isRepeated, valueIndex } from '../../src/http/header-fields.js'

t.test('Host lines are counted in any case', async (t) => {
  t.notOk(isRepeated(['Host', 'a', 'Ghost', 'b', 'host-x', 'c', 'x', 'host'], 'host'))
  t.ok(isRepeated(['Host', 'a', 'x', 'y', 'hOST', 'a'], 'host'))
})

t.test('the value of a field is found by its name in any case, and not by a value', async (t) => {
  const rawHeaders = ['X', 'authorization', 'AUTHORIZATION', 'Bearer a', 'y', 'z']
  t.equal(rawHeaders[valueIndex(rawHeaders, 'authorization')], 'Bearer a')
  t.equal(valueIndex(rawHeaders, 'z'), -1)
})
