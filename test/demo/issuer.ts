import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { scopes, userScopes } from '../../examples/demo-server/caller.js'
import { type TestIssuer, testIssuer } from '../../src/testing/index.js'

let started: Promise<TestIssuer> | undefined
let admin: Promise<string> | undefined

/**
 * The issuer of the tokens in the tests of this process. Its keys can be fetched, by demos that run as processes of their
 * own. (It ends with the process: a teardown of tap's root would end the root as soon as it waits.)
 */
export function issuer(): Promise<TestIssuer> {
  started ??= start()
  return started
}

/** A token for the records of all users. */
export function adminToken(): Promise<string> {
  admin ??= issuer().then(({ token }) =>
    token({ subject: 'admin', scopes: Object.keys(scopes), expiresIn: 3600 }),
  )
  return admin
}

/** A token of a user, by default with all scopes that a user may give. */
export async function userToken(id: unknown, scopes: readonly string[] = userScopes): Promise<string> {
  return (await issuer()).token({ subject: String(id), scopes, expiresIn: 3600 })
}

async function start(): Promise<TestIssuer> {
  const server = createServer().listen(0, '127.0.0.1').unref()
  server.on('connection', (socket) => void socket.unref())
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made = await testIssuer({ issuer: origin, audience: `${origin}/v1` })
  const documents: Readonly<Record<string, unknown>> = {
    '/.well-known/oauth-authorization-server': { issuer: origin, jwks_uri: `${origin}/jwks` },
    '/jwks': made.options.jwks,
  }
  server.on('request', ({ url = '' }, response) => {
    const document = documents[url]
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? {}))
  })
  return made
}
