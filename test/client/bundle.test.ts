import t from 'tap'
import { bundleClient } from './bundle-client.js'

t.test('the client is smaller than 4.5 kB, imports no package, and needs no global of Node.js', async (t) => {
  const code = await bundleClient('esm')
  const { length } = Buffer.from(code)
  t.ok(length > 1_000, 'there is something in it')
  t.ok(length < 4_500, `${length} bytes`)
  t.notMatch(code, /\b(?:import|require|process|Buffer|global|__dirname|setImmediate)\b|\bfrom"|node:/)
})
