import { type ClientSecrets, clientIds } from './authorization.js'
import { firstId } from './migrations.js'
import { runProcess } from './process.js'
import type { Settings } from './settings.js'

await runProcess(async (app, settings, { port, origin }, secrets) => {
  await app.listen({ host: settings.host, port })
  console.log(welcome(origin, settings, secrets))
})

function welcome(origin: string, { authorization, tls }: Settings, secrets: ClientSecrets): string {
  // The certificate is self-signed.
  const curl = tls === 'dev' ? 'curl -k' : 'curl'
  const send = `${curl} -i -H "authorization: Bearer $TOKEN"`
  return `
The demo listens on ${origin}. Its API is described at ${origin}/docs${authorization === null ? ', where one click logs in' : ''}. Try:

${authorization === null ? tokens(origin, curl, secrets) : `  TOKEN=…   # of ${authorization.issuer}, for ${authorization.audience}`}
  ${send} '${origin}/v1/users?limit=2&fields=id,name,email'
  ${send} '${origin}/v1/payments?status=failed'
  ${send} -X PATCH '${origin}/v1/users/${firstId}' -H 'content-type: application/merge-patch+json' -d '{"age": 37}'
  ${send} -X POST '${origin}/v1/payments/${firstId + 3n}/retry' -H 'prefer: wait=5'
`
}

function tokens(origin: string, curl: string, { admin, service }: ClientSecrets): string {
  const read = `node -pe 'JSON.parse(require("fs").readFileSync(0)).access_token'`
  const token = `${origin}/oauth/token`
  return `  TOKEN=$(${curl} -s -u ${clientIds.admin}:${admin} -d grant_type=client_credentials ${token} | ${read})

of an admin, or of a user, who sees no records but their own:

  TOKEN=$(${curl} -s -d client_id=${clientIds.app} -d grant_type=urn:fastify-conventions:demo:user -d user_id=${firstId} ${token} | ${read})

Another program with a secret is ${clientIds.service}:${service}. For development only: whoever reaches the demo may be any user.
`
}
