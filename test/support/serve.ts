import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

/** What of an app it takes to serve it; fits apps over HTTP/1.1 and HTTP/2. */
type Servable = Pick<FastifyInstance, 'listen' | 'close'> & { readonly server: { address(): unknown } }

/** Lets an app listen on a free port of the loopback interface, and closes it when the test ends. */
export async function serve(t: Test, app: Servable): Promise<{ origin: string; port: number }> {
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, port }
}
