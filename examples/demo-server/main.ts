import { tokenHint } from './caller.js'
import { firstId } from './migrations.js'
import { runProcess } from './process.js'

await runProcess(async (app, { host, port }) => {
  console.log(welcome(await app.listen({ host, port })))
})

function welcome(origin: string): string {
  return `
The demo listens on ${origin}. Its API is described at ${origin}/docs. Try:

  curl -i '${origin}/v1/users?limit=2&fields=id,name,email'
  curl -i '${origin}/v1/users/me' -H 'authorization: Bearer dev-user-${firstId}'
  curl -i '${origin}/v1/payments?status=failed'
  curl -i -X PATCH '${origin}/v1/users/${firstId}' -H 'content-type: application/merge-patch+json' -d '{"age": 37}'
  curl -i -X POST '${origin}/v1/payments/${firstId + 3n}/retry' -H 'prefer: wait=5'

Who asks is the user of the token: ${tokenHint}. For development only.
`
}
