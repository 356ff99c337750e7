import { runProcess } from './process.js'
import { isShared, needsOthers } from './settings.js'

// A process that runs operations and serves no requests.
await runProcess(async (app, { operations, databaseUrl, work }) => {
  if (!isShared(operations, databaseUrl)) throw new Error(`a worker ${needsOthers}`)
  if (!work) throw new Error("WORK: a worker that is 'off' has nothing to do")
  await app.ready()
  await app.operations.work()
  console.log(`The worker takes operations from ${operations === 'redis' ? 'Redis' : 'PostgreSQL'}.`)
})
