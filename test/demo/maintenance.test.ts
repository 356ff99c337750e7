// Own process: starts processes, and waits for them
/** `MAINTENANCE_FILE` of the demo: a file whose existence means maintenance. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isProblem } from '../support/problem.js'
import { until } from '../support/until.js'
import { type Answer, type Caller, callerOf } from './client.js'
import { startDemo } from './run-demo.js'

const target = '/v1/users?limit=1'

async function demoWith(t: Test, file: string): Promise<Caller> {
  const { origin } = await startDemo(t, { MAINTENANCE_FILE: file })
  return callerOf(origin)
}

/** Asks until the answer has the status: the demo looks at the file once a second. */
function answered(caller: Caller, status: number): Promise<Answer> {
  return until(
    () => caller.get(target),
    (answer) => answer.status === status,
  )
}

function isRefused(t: Test, answer: Answer, about: string): void {
  isProblem(t, { ...answer, body: answer.text }, { status: 503, code: 'maintenance' }, about)
}

t.test('while the file exists, all requests are refused', async (t) => {
  const file = join(t.testdir(), 'maintenance')
  const caller = await demoWith(t, file)
  t.equal((await caller.get(target)).status, 200)

  await writeFile(file, '')
  const answer = await answered(caller, 503)
  isRefused(t, answer, target)
  t.equal(answer.headers.get('retry-after'), '60')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const others = [
    ['DELETE', '/v1/users/1'],
    ['GET', '/nowhere'],
    ['GET', '/v1/users/%zz'],
    ['GET', '/openapi.json'],
  ] as const
  for (const [method, path] of others) isRefused(t, await caller.call(method, path), `${method} ${path}`)

  await rm(file)
  t.equal((await answered(caller, 200)).status, 200)
})

t.test('the file has a reason and an end, after which requests are served', async (t) => {
  const file = join(t.testdir(), 'maintenance')
  const caller = await demoWith(t, file)
  const end = Date.now() + 4_000
  await writeFile(`${file}.new`, JSON.stringify({ until: new Date(end).toISOString(), reason: 'The move' }))
  await rename(`${file}.new`, file)

  const { headers, json } = await answered(caller, 503)
  t.equal(json.detail, 'The move')
  const seconds = Number(headers.get('retry-after'))
  t.ok(seconds >= 1 && seconds <= 4, `seconds that are left: ${seconds}`)
  await answered(caller, 200)
  t.ok(Date.now() >= end, 'not sooner')
})

t.test('a file that exists at the start applies from the first request', async (t) => {
  const caller = await demoWith(t, join(t.testdir({ maintenance: '' }), 'maintenance'))
  isRefused(t, await caller.get(target), 'the first one')
})
