import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type defaultHelmet from 'helmet'
import type { HelmetOptions } from 'helmet'
import { invalid, isObject } from '../../options.js'
import { type HelmetHeaders, profiles, type ResolvedSecurityHeaders } from './options.js'

/** The package helmet, which is loaded at registration. */
export type Helmet = typeof defaultHelmet

/** Header fields, by their names in lowercase. */
export type Fields = Readonly<Record<string, string>>

/** Headers that are the same on each request. */
export interface Profile {
  /** The headers of a request over TLS. */
  readonly secure: Fields
  /** The headers of a request without TLS, without `Strict-Transport-Security`. The same object if there is none. */
  readonly plain: Fields
}

/** The headers of a configuration. */
export interface SecurityFields extends Profile {
  /** Sets a `Content-Security-Policy` that differs from request to request; `null` if it does not. */
  readonly setPolicy: SetPolicy | null
  /** The headers of a page, in place of those of the profile `api`, which block all of it; `null` if they are the same. */
  readonly ofPage: Profile | null
}

/** Nonces of one response, as @fastify/helmet names them. */
export interface Nonces {
  readonly script: string
  readonly style: string
}

/** Sets the policy on a raw response, unless it has one. Returns the nonces in the policy; `null` for none. */
export type SetPolicy = (
  request: IncomingMessage,
  response: ServerResponse,
  done: (error?: unknown) => void,
) => Nonces | null

/**
 * Returns the headers of a configuration. helmet runs once for those that are the same on each request.
 *
 * @param label the name of the option, for errors
 * @throws FST_CONV_OPTION_INVALID for options that helmet refuses
 */
export function securityFields(
  helmet: Helmet,
  label: string,
  { mode, profile, pages = {}, ...given }: ResolvedSecurityHeaders,
): SecurityFields {
  const { enableCSPNonces, ...headers }: HelmetHeaders = { ...profiles[profile], ...given }
  // Fastify sends no X-Powered-By that helmet would have to remove.
  const options = { ...headers, xPoweredBy: false } as HelmetOptions & object
  const { contentSecurityPolicy: policy } = options
  const hasNonces = enableCSPNonces === true && policy !== false
  const differs = hasNonces || hasFunction(policy)
  try {
    const { 'strict-transport-security': hsts, ...others } = fieldsOf(
      helmet,
      differs ? { ...options, contentSecurityPolicy: false } : options,
    )
    const plain: Fields = Object.freeze(others)
    const isOfApi = profile === 'api' && given.contentSecurityPolicy === undefined
    return {
      plain,
      secure: hsts === undefined ? plain : Object.freeze({ ...others, 'strict-transport-security': hsts }),
      setPolicy: differs ? policySetter(helmet, policy, hasNonces) : null,
      ofPage: isOfApi ? fieldsOfPages(helmet, label, pages, { ...given, mode, profile: 'helmet' }) : null,
    }
  } catch (error) {
    return invalid(label, `what helmet takes (${(error as Error).message})`, options)
  }
}

const noFields: Profile = { plain: {}, secure: {} }

function fieldsOfPages(
  helmet: Helmet,
  label: string,
  pages: NonNullable<ResolvedSecurityHeaders['pages']>,
  common: ResolvedSecurityHeaders,
): Profile {
  if (pages === false) return noFields
  const fields = securityFields(helmet, `${label}.pages`, { ...common, enableCSPNonces: false, ...pages })
  if (fields.setPolicy === null) return fields
  return invalid(
    `${label}.pages.contentSecurityPolicy`,
    'a policy without functions',
    pages.contentSecurityPolicy,
  )
}

function fieldsOf(helmet: Helmet, options: HelmetOptions): Record<string, string> {
  const fields: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      fields[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  helmet(options)({} as IncomingMessage, response as unknown as ServerResponse, rethrow)
  return fields
}

function rethrow(error?: unknown): void {
  if (error !== undefined) throw error
}

type Policy = HelmetOptions['contentSecurityPolicy']
type Directives = NonNullable<Exclude<Policy, boolean | undefined>['directives']>
type Directive = Exclude<Directives[string], null | symbol | string> | readonly unknown[]

function policySetter(helmet: Helmet, policy: Policy, hasNonces: boolean): SetPolicy {
  const options = isObject(policy) ? policy : {}
  const declared: Directives =
    policy === undefined ? helmet.contentSecurityPolicy.getDefaultDirectives() : (options.directives ?? {})
  let nonces: Nonces | null = null
  const directives: Directives = hasNonces
    ? {
        ...declared,
        ...withValue(declared, 'script-src', 'scriptSrc', () => `'nonce-${nonces?.script}'`),
        ...withValue(declared, 'style-src', 'styleSrc', () => `'nonce-${nonces?.style}'`),
      }
    : declared
  const setHeader = helmet.contentSecurityPolicy({ ...options, directives })
  const name = options.reportOnly === true ? 'content-security-policy-report-only' : 'content-security-policy'
  return function setPolicy(request, response, done) {
    nonces = hasNonces ? { script: nonce(), style: nonce() } : null
    if (response.hasHeader(name)) done()
    else setHeader(request, response, done)
    return nonces
  }
}

function nonce(): string {
  return randomBytes(16).toString('hex')
}

/** Returns a directive, which may have either name, with one more value. */
function withValue(
  directives: Directives,
  name: string,
  inCamelCase: string,
  value: () => string,
): Directives {
  const key = Array.isArray(directives[name]) ? name : inCamelCase
  const before = directives[key] as Directive | undefined
  return { [key]: [...(Array.isArray(before) ? before : []), value] as Directives[string] }
}

function hasFunction(policy: Policy): boolean {
  if (!isObject(policy) || !isObject(policy.directives)) return false
  return Object.values(policy.directives).some(
    (values) =>
      typeof values === 'object' &&
      values !== null &&
      [...(values as Iterable<unknown>)].some((value) => typeof value === 'function'),
  )
}
