import t from 'tap'
import { loadPeer } from '../src/load-peer.js'

t.test('a package that is missing is a boot error that names it', async (t) => {
  for (const code of ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']) {
    const load = () => Promise.reject(Object.assign(new Error('no such package'), { code }))
    await t.rejects(loadPeer('bearer', 'jose', load), {
      code: 'FST_CONV_PACKAGE_MISSING',
      message: 'bearer needs a package that is not installed: npm install jose',
    })
  }
})

t.test('a package that fails to load is not missing', async (t) => {
  const error = new SyntaxError('unexpected token')
  await t.rejects(
    loadPeer('bearer', 'jose', () => Promise.reject(error)),
    error,
  )
  t.equal(await loadPeer('bearer', 'jose', async () => 7), 7)
})
