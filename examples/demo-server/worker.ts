import { runProcess } from './process.js'

// A process that runs operations and serves nobody.
await runProcess(async (app, { operations, work }) => {
  if (operations === 'memory') throw new Error('a worker needs REDIS_URL or OPERATIONS=postgres')
  if (!work) throw new Error("WORK: a worker that is 'off' has nothing to do")
  await app.ready()
  console.log(`The worker takes operations from ${operations === 'redis' ? 'Redis' : 'PostgreSQL'}.`)
})
