// Rules of one team, kept like those of the package: requests name their tenant, and no list has numbered pages.
// node examples/own-convention.js
import Fastify from 'fastify'
import conventions, { ProblemError, serverOptions } from 'fastify-conventions'
import { checks, convention, option, routeRuleOptions, ruleOptions } from 'fastify-conventions/convention'

const rules = ['tenant', 'pages']

const houseRules = convention({
  name: 'houseRules',
  rules,
  // Only requests show whether they name a tenant.
  options: { ...ruleOptions(rules), header: option(checks.text(), 'x-tenant') },
  routeOptions: routeRuleOptions(rules),
  route({ route, options: { header }, addFinding }) {
    // Paths without a route.
    if (route === null) return undefined
    // At boot: a finding, with what to write instead.
    if (route.schema?.querystring?.properties?.page !== undefined) {
      addFinding('pages', 'has a query parameter page', 'config.lists, and before_id')
    }
    const refusal = new ProblemError('tenant-missing', { status: 400, detail: `Send ${header}` })
    const effect = { rule: 'tenant', given: `without ${header}`, refusal }
    return {
      // On each request: `enforce` refuses it, `report` counts it.
      onRequest: (request) => (request.headers[header] === undefined ? effect : undefined),
      // In the OpenAPI document.
      describe: {
        parameters: { [header]: { schema: { type: 'string' }, isRequired: true } },
        problems: [{ code: 'tenant-missing', status: 400, description: 'The request names no tenant' }],
      },
    }
  },
})

const app = Fastify({ ...serverOptions(), logger: true })
await app.register(conventions)
await app.register(houseRules)

const orders = [{ id: 1, tenant: 'acme' }]
app.get('/v1/orders/:id', async (request) => {
  const order = orders.find(({ id, tenant }) => {
    return String(id) === request.params.id && tenant === request.headers['x-tenant']
  })
  if (order === undefined) throw new ProblemError('not-found')
  return order
})
app.get(
  '/health',
  { config: { houseRules: { except: ['tenant'], reason: 'for the balancer' } } },
  async () => ({
    status: 'ok',
  }),
)

await app.listen({ port: Number(process.env.PORT ?? 3000) })
