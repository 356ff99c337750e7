import { errors, type Provider, type ResourceServer } from 'oidc-provider'
import { userGrantType } from './clients.js'

/** What {@link allowUserGrant} needs. */
export interface UserGrantOptions {
  readonly audience: string
  readonly resourceServer: () => ResourceServer
  /** Whether there is a user. */
  readonly isUser: (id: string) => Promise<boolean>
}

/** Adds the grant to an authorization server. Its parameter is `user_id`. */
export function allowUserGrant(
  provider: Provider,
  { audience, resourceServer, isUser }: UserGrantOptions,
): void {
  provider.registerGrantType<{ readonly user_id?: string; readonly scope?: string }>(
    userGrantType,
    async function giveUserToken(ctx) {
      const { client, params } = ctx.oidc
      const accountId = params.user_id ?? ''
      if (!(await isUser(accountId))) throw new errors.InvalidRequest('user_id: expected the id of a user')
      const allowed = (client.scope?.split(' ') ?? []).filter((name) => name !== 'openid')
      const scope = (params.scope?.split(' ') ?? allowed).filter((name) => allowed.includes(name)).join(' ')
      const grant = new provider.Grant({ clientId: client.clientId, accountId })
      grant.addResourceScope(audience, scope)
      const token = new provider.AccessToken({
        client,
        accountId,
        grantId: await grant.save(),
        gty: userGrantType,
        scope,
      })
      token.resourceServer = new provider.ResourceServer(audience, resourceServer())
      ctx.body = {
        access_token: await token.save(),
        expires_in: token.expiration,
        token_type: token.tokenType,
        scope,
      }
    },
    ['user_id', 'scope'],
  )
}
