import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { FastifyServerOptions } from 'fastify'
import { generate } from 'selfsigned'
import type { Settings } from './settings.js'

export interface Certificate {
  /** The certificate, followed by those of the authorities between it and the root. */
  readonly cert: string
  readonly key: string
}

export async function openCertificate({ tls, host }: Settings): Promise<Certificate | null> {
  if (tls === null) return null
  if (tls === 'dev') return developmentCertificate(host)
  const [cert, key] = await Promise.all([read('TLS_CERT', tls.cert), read('TLS_KEY', tls.key)])
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new Error(`TLS_CERT and TLS_KEY: ${(error as Error).message}`)
  }
  return { cert, key }
}

/** The service uses what both versions of HTTP have in common, so its types are those of HTTP/1.1. */
export function secureServer(certificate: Certificate): FastifyServerOptions {
  const options = { http2: true, https: { ...certificate, allowHTTP1: true } }
  return options as FastifyServerOptions
}

function read(variable: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new Error(`${variable}: ${error.message}`)
  })
}

const thirtyDays = 30 * 24 * 60 * 60 * 1000

export async function developmentCertificate(host: string): Promise<Certificate> {
  const names = new Set(['localhost', '127.0.0.1', '::1', host])
  const altNames = [...names].map((name) =>
    isIP(name) === 0 ? { type: 2 as const, value: name } : { type: 7 as const, ip: name },
  )
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notAfterDate: new Date(Date.now() + thirtyDays),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
    ],
  })
  return { cert: made.cert, key: made.private }
}
