/** Ids of the clients of the authorization server. */
export const clientIds = { app: 'demo-app', admin: 'demo-admin', service: 'demo-service' } as const

/**
 * FOR DEVELOPMENT ONLY: the extension grant (RFC 6749 §4.5) that gives a token of any user to whoever asks for it, as the
 * login page does, but in one command.
 */
export const userGrantType = 'urn:fastify-conventions:demo:user'
