import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { bootErrors } from '../boot-errors.js'
import { loadPeer } from '../load-peer.js'
import { invalid, pluginOptions } from '../options.js'
import { type DevIssuerOptions, type FindUser, type FindUsers, resolveDevIssuer } from './options.js'
import { createProvider } from './provider.js'
import { mountEndpoints, mountLogin } from './routes.js'

export type { DevClient, DevIssuerOptions, DevUser } from './options.js'

/**
 * An OAuth 2.0 authorization server FOR DEVELOPMENT, as part of the app: oidc-provider, which believes everybody to be who
 * they say they are. Programs get tokens by client credentials, apps by authorization code with PKCE, and a command of one
 * line by the grant `urn:fastify-conventions:demo:user` with `user_id`. `bearer` with the same `issuer` and `audience` accepts
 * the tokens.
 *
 * The endpoints are below `/oauth` and `/.well-known`. Keys, sessions and codes are in memory: a restart ends all tokens.
 * Needs the package `oidc-provider`.
 *
 * @throws FST_CONV_DEVELOPMENT_ONLY if NODE_ENV is `production`, FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN,
 * FST_CONV_PACKAGE_MISSING
 */
export const devIssuer: FastifyPluginAsync<DevIssuerOptions> = fastifyPlugin(
  async function registerDevIssuer(app: FastifyInstance, received: DevIssuerOptions): Promise<void> {
    if (process.env.NODE_ENV === 'production') throw new bootErrors.FST_CONV_DEVELOPMENT_ONLY('devIssuer')
    const options = resolveDevIssuer(pluginOptions(received))
    if (app.prefix !== '') invalid('devIssuer.prefix', 'none: its URLs begin at the origin', app.prefix)
    const oidc = await loadPeer('devIssuer', 'oidc-provider', () => import('oidc-provider'))
    const { users, issuer } = options
    const findUsers: FindUsers = typeof users === 'function' ? users : () => users
    const findUser: FindUser = async (id) => (await findUsers(id)).find((user) => user.id === id)
    const provider = await createProvider(oidc, options, findUser)
    await app.register(mountEndpoints, { provider, issuer })
    const isUnknown = (error: unknown) => error instanceof oidc.errors.OIDCProviderError
    await app.register(mountLogin, { provider, findUsers, findUser, isUnknown })
  },
  { name: 'fastify-conventions/dev-issuer', fastify: '5.x' },
)
