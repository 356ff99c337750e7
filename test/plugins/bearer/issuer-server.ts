import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { Test } from 'tap'

/** An issuer over HTTP whose keys and faults a test controls. */
export interface IssuerServer {
  readonly url: string
  /** The requests so far, by path. */
  readonly requests: string[]
  /** Answers a path in another way. */
  readonly answers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>
  /** Publishes a new key besides the newest of the old ones, and signs with it from then on. */
  rotate(): Promise<void>
  token(claims?: Readonly<Record<string, unknown>>): Promise<string>
  /** Ends all connections and refuses new ones. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts an issuer, and stops it when the test ends. */
export async function issuerServer(t: Test, path = ''): Promise<IssuerServer> {
  const requests: string[] = []
  const answers: IssuerServer['answers'] = new Map()
  const published: JWK[] = []
  let signing: CryptoKey | null = null
  let count = 0
  let port = 0

  const server = createServer((request, response) => {
    const { url = '' } = request
    requests.push(url)
    const answer = answers.get(url)
    if (answer !== undefined) answer(request, response)
    else if (url === `/.well-known/oauth-authorization-server${path}`)
      sendJson(response, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` })
    else if (url === `${path}/jwks`) sendJson(response, { keys: published })
    else response.writeHead(404).end()
  })

  const issuer: IssuerServer = {
    get url() {
      return `http://127.0.0.1:${port}${path}`
    },
    requests,
    answers,
    async rotate() {
      const { privateKey, publicKey } = await generateKeyPair('ES256')
      const key = await exportJWK(publicKey)
      count += 1
      published.push({ ...key, alg: 'ES256', kid: `key-${count}` })
      if (published.length > 2) published.shift()
      signing = privateKey
    },
    token(claims = {}) {
      if (signing === null) throw new Error('no key')
      const all = { sub: 'ada', client_id: 'app', jti: crypto.randomUUID(), ...claims }
      return new SignJWT({ iss: issuer.url, aud: 'https://api.test', ...all })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: `key-${count}` })
        .setIssuedAt()
        .setExpirationTime('5 minutes')
        .sign(signing)
    },
    async stop() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
    start: () =>
      new Promise((resolve) => {
        server.listen(port, '127.0.0.1', () => {
          port = (server.address() as AddressInfo).port
          resolve()
        })
      }),
  }
  await issuer.start()
  await issuer.rotate()
  t.teardown(async () => {
    if (server.listening) await issuer.stop()
  })
  return issuer
}

/** Sends a JSON document. */
export function sendJson(response: ServerResponse, document: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}
