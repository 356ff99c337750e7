import { once } from 'node:events'
import { createServer, isIPv6 } from 'node:net'
import type { Settings } from './settings.js'

export interface Place {
  readonly port: number
  readonly origin: string
}

/** The addresses that stand for all addresses of the machine. */
const anyAddress: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Decides where the service will be, before it is: the tokens that it gives out name it. */
export async function choosePlace({ host, port: wanted, tls }: Settings): Promise<Place> {
  const port = wanted === 0 ? await freePort(host) : wanted
  const name = anyAddress[host] ?? host
  const scheme = tls === null ? 'http' : 'https'
  return { port, origin: new URL(`${scheme}://${isIPv6(name) ? `[${name}]` : name}:${port}`).origin }
}

async function freePort(host: string): Promise<number> {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}
