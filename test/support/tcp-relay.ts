import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Starts a relay to a port on loopback, or to a Unix socket: it stands between clients and a server as a network does. */
export async function startRelay(given: number | string) {
  let target = given
  const sockets = new Set<Socket>()
  let isCut = false

  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer((client) => {
    const upstream = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target)
    for (const [from, to] of [
      [keep(client), upstream],
      [keep(upstream), client],
    ] as const) {
      from.on('data', (chunk) => to.write(chunk))
      from.once('close', () => to.destroy())
      if (isCut) from.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    /** Where clients connect. */
    port: (server.address() as AddressInfo).port,
    /** From now on nothing comes through, in either direction; connections stay open, and new ones get no answer. */
    cut() {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    /** Everything comes through again, also what was sent meanwhile. */
    heal() {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    /** Leads new connections to another port, and ends the present ones. */
    aim(port: number) {
      target = port
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
