import { bootApp } from './boot-app.js'
import type { ProcessRequest } from './outcome.js'

process.once('message', async (request) => {
  const outcome = await bootApp(request as ProcessRequest)
  // The app may have left something open.
  process.send?.(outcome, () => process.exit())
})
