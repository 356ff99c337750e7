import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { problems } from '../../../src/index.js'
import { documentedErrors } from '../../../src/plugins/problems/openapi.js'
import { appOf } from '../../support/app.js'
import { documentOf } from '../../support/openapi.js'
import { appWith, refuses } from './support.js'

t.test('an invalid option throws, with its name, the expected and the received value', async (t) => {
  const noMember =
    /^problems\.keepMembers\[0\]: expected a name that a problem document does not have, received /
  for (const [options, message, code = 'INVALID'] of [
    [{ mode: 'loud' }, "problems.mode: expected one of 'enforce', 'report', 'off', received 'loud'"],
    [{ typeBase: 'not a URL ' }, /^problems\.typeBase: expected the beginning of a URI/],
    [{ whileClosing: null }, "problems.whileClosing: expected one of 'refuse', 'serve', received null"],
    [{ refusals: true }, "problems.refusals: expected one of 'answer', 'errorHandler', received true"],
    [{ errorHandler: 'keep' }, "problems.errorHandler: expected one of 'leave', 'wrap', received 'keep'"],
    [{ keepMembers: ['detail'] }, noMember],
    [{ keepMembers: ['__proto__'] }, noMember],
    [{ keepMembers: [''] }, noMember],
    [{ codes: { E_FUNDS: 409 } }, /^problems\.codes/],
    [{ codes: { funds: 200 } }, /^problems\.codes/],
    [{ codes: ['funds'] }, /^problems\.codes: expected an object of codes/],
    [{ typebase: 'x' }, /^problems\.typebase: there is no such option; expected one of codes, /, 'UNKNOWN'],
  ] as const) {
    const register = async () => Fastify().register(problems, options as object)
    await t.rejects(register, { code: `FST_CONV_OPTION_${code}`, message })
  }
  await Fastify().register(problems, { codes: { funds: 400, 'no-funds': 599 } })
  const app = await appWith()
  for (const [config, message] of [
    [true, 'config.problems: expected an object or false, received true'],
    [null, 'config.problems: expected an object or false, received null'],
    [{ mode: 'on' }, "config.problems.mode: expected one of 'enforce', 'report', 'off', received 'on'"],
  ] as const) {
    const options = { config: { problems: config as object } }
    const error = { code: 'FST_CONV_OPTION_INVALID', message: `GET /v1/users ${message}` }
    t.throws(() => app.get('/v1/users', options, async () => ({})), error)
  }
})

t.test('mode: the route takes precedence over the plugin, the plugin over the preset', async (t) => {
  for (const row of [
    ['enforce', {}, {}, true],
    ['enforce', {}, { mode: 'report' }, false],
    ['enforce', {}, false, false],
    ['enforce', { mode: 'report' }, {}, false],
    ['report', { mode: 'enforce' }, {}, true],
    ['report', {}, { mode: 'enforce' }, true],
  ] as const) {
    const [mode, plugin, route, isEnforced] = row
    const app = await appOf([conventions, { mode, problems: plugin, pathGuard: false }])
    const config = { problems: route }
    app.get('/thrown', { config }, async () => Promise.reject(new Error('broken')))
    app.get('/written', { config }, async (_, reply) => reply.code(500).send({ message: 'broken' }))
    for (const path of ['/thrown', '/written']) {
      const type = (await app.inject(path)).headers['content-type']
      t.equal(type === 'application/problem+json', isEnforced, `${path}: ${JSON.stringify(row)}`)
    }
  }
})

t.test('an error body that a hook sends on an unknown path becomes a problem', async (t) => {
  const app = await appWith()
  app.addHook('onRequest', async (_request, reply) => reply.code(401).send({ message: 'no' }))
  await refuses(t, app, '/v1/nothing', { status: 401, code: 'unauthorized', detail: 'no' })
})

t.test('report mode counts error bodies that enforce mode would replace', async (t) => {
  const app = await appWith({ mode: 'report' })
  const type = 'application/problem+json'
  app.get('/v1/written', async (_request, reply) => reply.code(409).send({ message: 'paid' }))
  app.get('/v1/problem', async (_request, reply) => reply.code(409).type(type).send({ title: 'Paid' }))
  const own = async (child: FastifyInstance) =>
    void child.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: true }))
  app.register(own, { prefix: '/own' })
  for (const url of ['/v1/written', '/v1/problem', '/v1/nothing', '/own/nothing']) await app.inject(url)
  const told = app.conventions.report().observations.map(({ rule, example, count }) => [rule, example, count])
  t.strictSame(told, [
    ['body', '409 without a problem document', 1],
    ['body', '409 without cache-control', 1],
    ['body', '404 without a problem document', 1],
  ])
})

const message = { type: 'object', properties: { message: { type: 'string' } } }
const json = { content: { 'application/json': { schema: message } } }
const problem = { content: { 'application/problem+json': { schema: message } } }

t.test('errors in another format than that of problems, by media type', async (t) => {
  const sentence = (statuses: string) =>
    `${statuses}: documented as application/json, and sent as application/problem+json`
  for (const [response, problems] of [
    [{ 200: message, 400: message, 404: json, '5xx': { $ref: 'error#' } }, [sentence('400, 404, 5xx')]],
    [{ 200: message, default: json }, [sentence('default')]],
    [{ default: json }, []],
    [{ 413: problem, default: json }, []],
    [{ 200: json, 204: json, 303: json, 400: problem }, []],
    [{ 400: { description: 'no body' }, 401: { type: 'null' }, 402: {} }, []],
    [{ 400: { content: { 'text/html': { schema: { type: 'string' } }, 'application/json': {} } } }, []],
    [{ 200: message, 400: true }, [sentence('400')]],
    [undefined, []],
  ] as const)
    t.strictSame(documentedErrors(response), problems, JSON.stringify(response))
})

t.test('a route that documents such an error is a finding that does not stop the boot', async (t) => {
  const app = await appOf(conventions)
  const schema = { response: { 200: message, 400: message } }
  const handler = async () => ({ message: '' })
  app.get('/v1/users', { schema }, handler)
  app.get('/v1/orders', { schema, config: { problems: false } }, handler)
  app.get('/v1/items', { schema, errorHandler: async () => ({ message: 'in its own format' }) }, handler)
  await app.ready()
  const found = app.conventions.report().findings.filter(({ rule }) => rule === 'documented')
  const told = found.map(({ route, effect }) => [route, effect])
  t.strictSame(told, [['GET /v1/users', 'none']])
})

t.test('OpenAPI shows the errors that a route may answer with, and what a 415 tells', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(problems, { codes: { funds: 402 } })
  const schema = { response: { 200: { type: 'object' } } }
  const handler = () => ({})
  const taken = { problems: { codes: { taken: 409 } } }
  app.get('/v1/users', { schema }, handler)
  app.get('/v1/texts/:id', { schema: { querystring: { type: 'object' } } }, handler)
  app.route({ method: ['GET', 'POST'], url: '/v1/both', schema, handler })
  const validated = { ...schema, body: { type: 'object' } }
  app.patch('/v1/users/:id', { schema: validated, config: taken, handlerTimeout: 9 }, handler)
  const { paths = {} } = await documentOf(app)
  const shown = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses = {} }]) => {
      const names = Object.keys(responses[415]?.headers ?? {})
      const times = JSON.stringify(responses).includes('handler-timeout')
      return [`${method} ${path}`, Object.keys(responses).join(), names.join(), times]
    }),
  )
  t.notMatch(JSON.stringify(paths), '"anyOf"', 'with `codes`, there are no other ones')
  const [ofBody, ofPatch] = ['200,400,402,406,413,415,500,503', '200,400,402,404,406,409,413,414,415,500,503']
  t.strictSame(shown, [
    ['get /v1/users', '200,402,406,500,503', '', false],
    ['get /v1/texts/{id}', '200,400,402,404,414,500,503', '', false],
    ['get /v1/both', ofBody, 'Accept-Encoding,Accept', false],
    ['post /v1/both', ofBody, 'Accept-Encoding,Accept', false],
    ['patch /v1/users/{id}', ofPatch, 'Accept-Encoding,Accept-Patch', true],
  ])
})
