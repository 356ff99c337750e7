import type { IncomingMessage, ServerResponse } from 'node:http'
import type defaultHelmet from 'helmet'
import type { HelmetOptions } from 'helmet'
import { invalid } from '../../options.js'
import type { ResolvedSecurityHeaders } from './options.js'

export type Helmet = typeof defaultHelmet

/** Header fields, by their names in lowercase. */
export type Fields = Readonly<Record<string, string>>

/** Headers with TLS, and without: the same object if there is no `Strict-Transport-Security`. */
export interface Profile {
  readonly secure: Fields
  readonly plain: Fields
}

export interface SecurityFields extends Profile {
  /** The headers of a page, in place of those of the profile `api`, which block all of it; `null` if they are the same. */
  readonly ofPage: Profile | null
}

/** The profile `api` leaves out what affects pages only (OWASP REST Security Cheat Sheet). */
const ofApi: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  crossOriginOpenerPolicy: false,
  crossOriginResourcePolicy: { policy: 'same-origin' },
  originAgentCluster: false,
  referrerPolicy: { policy: 'no-referrer' },
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: { action: 'deny' },
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
}

export function securityFields(
  helmet: Helmet,
  label: string,
  { mode: _, profile, ...given }: ResolvedSecurityHeaders,
): SecurityFields {
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const ofPage = profileOf(helmet, label, own)
  if (profile === 'helmet') return { ...ofPage, ofPage: null }
  const fields = profileOf(helmet, label, { ...ofApi, ...own })
  return { ...fields, ofPage: given.contentSecurityPolicy === undefined ? ofPage : null }
}

/** The headers of a route whose pages have no policy of this plugin. */
export function withoutPolicyOnPages(fields: SecurityFields): SecurityFields {
  const { plain, secure } = fields.ofPage ?? fields
  return { ...fields, ofPage: { plain: withoutPolicy(plain), secure: withoutPolicy(secure) } }
}

// A page may load what a policy stops, and an opener policy cuts it off from the window that opened it for a login.
function withoutPolicy(fields: Fields): Fields {
  const { 'content-security-policy': _, 'cross-origin-opener-policy': __, ...others } = fields
  return others
}

/** Runs helmet once. */
function profileOf(helmet: Helmet, label: string, headers: object): Profile {
  const fields: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      fields[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  // Fastify sends no X-Powered-By that helmet would have to remove.
  const options: HelmetOptions = { ...headers, xPoweredBy: false }
  try {
    helmet(options)({} as IncomingMessage, response as unknown as ServerResponse, rethrow)
  } catch (error) {
    return invalid(label, `what helmet takes (${(error as Error).message})`, headers)
  }
  const { 'strict-transport-security': hsts, ...others } = fields
  const plain = Object.freeze(others)
  return { plain, secure: hsts === undefined ? plain : Object.freeze(fields) }
}

function rethrow(error?: unknown): void {
  if (error !== undefined) throw error
}
