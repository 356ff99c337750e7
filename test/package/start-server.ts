import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { userEnvironment } from './run-command.js'

/** What a server says to a request. */
export interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** A server in a process of its own. */
export interface Server {
  /** Asks over a socket. The path goes out byte for byte, which `fetch` would not do. */
  ask(method: string, path: string): Promise<Answer>
  stop(): Promise<void>
}

/** Starts a program that prints the address it listens on. */
export async function startServer(file: string, folder: string): Promise<Server> {
  const env = userEnvironment()
  const child = spawn(process.execPath, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const errors = text(child.stderr)
  const closed = once(child, 'close')
  const firstLine = once(createInterface({ input: child.stdout }), 'line')
  const [address] = await Promise.race([firstLine, closed.then(() => [undefined])])
  if (typeof address !== 'string') throw new Error(`${file} ended before it listened\n${await errors}`)
  return {
    ask: (method, path) => ask(new URL(address), method, path),
    stop: async () => {
      child.kill()
      await closed
    },
  }
}

function ask({ hostname, port }: URL, method: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, agent: false })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const { statusCode: status, headers } = response
      text(response).then((body) => resolve({ status, headers, body }), reject)
    })
    sent.end()
  })
}
