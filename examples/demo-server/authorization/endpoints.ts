/** Where the endpoints of the authorization server are, under the origin of the demo. */
export const endpoints = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  userinfo: '/oauth/userinfo',
  interaction: '/oauth/interaction',
} as const
