// A program: boots an app that breaks a rule, and has something open. It ends by itself if the failed boot closes that.
import { createServer } from 'node:http'
import Fastify from 'fastify'
import conventions from '../../src/index.js'

const ofApp = createServer().listen(0)
const app = Fastify()
app.addHook('onClose', async () => void ofApp.close())
await app.register(conventions, { identify: () => 'a', maintenance: { file: 'no-such-notice.json' } })
app.operations.define('users.check', async () => {})
app.get('/v1/Users', async () => ({}))
await app.ready().then(
  () => console.log('ready'),
  ({ code }) => console.log(code),
)
