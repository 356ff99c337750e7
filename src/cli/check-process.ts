import { bootApp, type ProcessRequest } from './boot-app.js'

process.once('message', async (request) => {
  const outcome = await bootApp(request as ProcessRequest)
  // The app may have left something open.
  process.send?.(outcome, () => process.exit())
})
