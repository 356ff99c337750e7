// Lists the files of src/ that one request runs through: npm run walk [root of another checkout]
// V8 counts the calls of each function during one request, after the same requests have warmed up the app.
import { Session } from 'node:inspector/promises'
import { relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Fastify from 'fastify'

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
const { default: conventions, serverOptions } = await import(pathToFileURL(`${root}/src/index.ts`).href)

const user = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string' },
    age: { type: 'integer' },
  },
}
const app = Fastify(serverOptions())
await app.register(conventions)
app.get('/v1/users/:id', { schema: { response: { 200: user } } }, async () => ({
  id: 9007199254740993n,
  name: 'Ada',
  age: 36,
}))
app.patch(
  '/v1/users/:id',
  {
    schema: { body: user, response: { 200: user } },
    config: { caching: { validators: () => ({ etag: '"1"' }) } },
  },
  async () => ({ id: 1, name: 'Ada', age: 37 }),
)
app.post('/v1/users', { schema: { body: user } }, async (_request, reply) => reply.code(201).send({}))
await app.ready()

const requests = {
  '?fields=name of an item': { url: '/v1/users/1?fields=name' },
  'PATCH with If-Match': {
    method: 'PATCH',
    url: '/v1/users/1',
    headers: { 'if-match': '"1"', 'content-type': 'application/json' },
    payload: '{"age":37}',
  },
  'a path that does not exist (404)': { url: '/v1/nothing' },
  'POST {"id":9007199254740993}': {
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': 'application/json' },
    payload: '{"id":9007199254740993}',
  },
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
for (const [name, request] of Object.entries(requests)) {
  for (let warmUp = 0; warmUp < 3; warmUp++) await app.inject(request)
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  const { statusCode, body } = await app.inject(request)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const files = result
    .filter(({ url }) => url.startsWith(pathToFileURL(`${root}/src/`).href))
    .filter(({ functions }) => functions.some(({ ranges: [range] }) => range.count > 0))
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .sort()
  console.log(`\n${name}: ${statusCode} ${body.slice(0, 60)}\n${files.length} files\n  ${files.join('\n  ')}`)
}
session.disconnect()
await app.close()
