export default async function greeting(app) {
  app.get('/', async ({ session, protocol, hostname }) => ({
    message: `Hello ${session.user.username}! See documentation at ${protocol}://${hostname}/api/docs`,
  }))
}
