import { isIP } from 'node:net'
import { generate } from 'selfsigned'
import type { Certificate } from './tls.js'

const days = 24 * 60 * 60 * 1000

/** Makes a certificate that nobody vouches for, for this machine's own names and a host: for development. */
export async function developmentCertificate(host: string): Promise<Certificate> {
  const names = new Set(['localhost', '127.0.0.1', '::1', host])
  const altNames = [...names].map((name) =>
    isIP(name) === 0 ? { type: 2 as const, value: name } : { type: 7 as const, ip: name },
  )
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notAfterDate: new Date(Date.now() + 30 * days),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
    ],
  })
  return { cert: made.cert, key: made.private }
}
