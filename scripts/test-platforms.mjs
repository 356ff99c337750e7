// Checks the packed package on all platforms: npm run test:platforms -- [--allow-missing] [node@26 | bun | deno …]
// Each of Node.js 20, 22, 24 and 26, Bun and Deno, in its newest release, runs test/platforms/checks.mjs with the oldest and
// the newest Fastify 5 and peers, as an ES module and as CommonJS. The programs come from the npm registry (platform-binary.mjs). A
// program that cannot be had is a failure; with --allow-missing it is only reported.
// docs/platforms.md says what is checked. Without a redis-server, the checks on Redis are skipped, loudly.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { platformBinary } from './platform-binary.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const platforms = ['node@20', 'node@22', 'node@24', 'node@26', 'bun', 'deno']
const systems = ['esm', 'cjs']
// Against a hang: a run takes some seconds.
const limit = 180_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'allow-missing': { type: 'boolean', default: false } },
})
const chosen = positionals.length > 0 ? positionals : platforms
const unknown = chosen.filter((name) => !/^(node@[\w.]+|(bun|deno)(@[\w.]+)?)$/.test(name))
if (unknown.length > 0) {
  console.error(`not a platform: ${unknown.join(' ')}; such as ${platforms.join(' ')}`)
  process.exit(2)
}

const { devDependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** The releases of the peers: the lower bounds of their ranges, and the newest. */
const releases = {
  oldest: ([, range]) => range.replace(/^\D*/, ''),
  newest: ([name]) => (name === 'fastify' ? '5' : devDependencies[name]),
}
const programs = chosen.map((name) => ({ name, binary: binaryOf(name) }))
const present = programs.filter(({ binary }) => binary !== null)
const work = mkdtempSync(join(tmpdir(), 'platforms-'))
const rows = []
let redis
try {
  if (present.length > 0) await checkAll()
} finally {
  redis?.kill()
  rmSync(work, { recursive: true, force: true })
}
console.table(rows.map(({ failures: _, ...row }) => row))
for (const { platform, fastify, system, failures } of rows) {
  for (const failure of failures) {
    const start = failure.split('\n').slice(0, 8).join('\n')
    console.error(`failed: ${platform}, Fastify ${fastify}, ${system}: ${start}`)
  }
}
for (const { name } of programs.filter((program) => !present.includes(program))) {
  console.error(`NOT CHECKED: ${name}, which the registry does not have`)
}
const isWhole = values['allow-missing'] || present.length === programs.length
process.exitCode = isWhole && rows.every(({ failures }) => failures.length === 0) ? 0 : 1

/** The program of a platform; `null` if it cannot be had. */
function binaryOf(name) {
  const [program, range = 'latest'] = name.split('@')
  try {
    return platformBinary(program, range, { newest: true })
  } catch {
    return null
  }
}

async function checkAll() {
  const redisPort = await startRedis()
  const tarball = pack()
  for (const release of Object.keys(releases)) {
    const folder = consumer(tarball, release)
    for (const { name, binary } of present) {
      const runs = systems.map((system) => check({ name, binary, system, folder, release, redisPort }))
      rows.push(...(await Promise.all(runs)))
    }
  }
}

/** Packs what is built. */
function pack() {
  const [{ filename }] = JSON.parse(
    npm(root, 'pack', '--json', '--ignore-scripts', '--pack-destination', work),
  )
  return join(work, filename)
}

/** A folder with the package, the oldest or the newest release of its peers, and the checks. */
function consumer(tarball, release) {
  const folder = mkdtempSync(join(work, 'app-'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const peers = Object.entries(peerDependencies)
  const packages = [tarball, ...peers.map((peer) => `${peer[0]}@${releases[release](peer)}`)]
  npm(folder, 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-online', ...packages)
  copyFileSync(join(root, 'test/platforms/checks.mjs'), join(folder, 'checks.mjs'))
  return folder
}

async function check({ release, ...program }) {
  const { started, results, end } = await run(program)
  const broken = results.filter(({ error }) => error !== null)
  const failures = broken.map(({ name, error }) => `${name}: ${error}`)
  if (end !== null) failures.push(end)
  const row = {
    platform: started?.platform ?? program.name,
    fastify: started?.fastify ?? release,
    system: program.system,
    passed: results.length - broken.length,
    failed: failures.length,
  }
  console.log(Object.values(row).join(' '))
  return { ...row, failures }
}

/** Runs the checks. `end` says why they did not get to their end. */
async function run({ name, binary, system, folder, redisPort }) {
  const options = name.startsWith('deno') ? ['run', '--allow-all'] : []
  const { REDIS_URL: _, ...env } = process.env
  // A database for each: the queues of both have the same name.
  if (redisPort !== null) env.REDIS_URL = `redis://127.0.0.1:${redisPort}/${systems.indexOf(system)}`
  const child = spawn(binary, [...options, 'checks.mjs', system], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const killer = setTimeout(() => child.kill('SIGKILL'), limit)
  const [out, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  clearTimeout(killer)
  const lines = out.split('\n').filter((line) => line.startsWith('{'))
  const [started, ...results] = lines.map((line) => JSON.parse(line))
  const isAtEnd = results.pop()?.end === true && code === 0
  return { started, results, end: isAtEnd ? null : `ended with ${code ?? signal}\n${errors}` }
}

/** Starts a Redis server, and returns its port; `null` if none is installed. */
async function startRedis() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--dir', work]
  redis = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = new Promise((resolve) => {
    redis.on('error', () => resolve(false)).on('exit', () => resolve(false))
    createInterface({ input: redis.stdout }).on('line', (line) => {
      if (/ready to accept/i.test(line)) resolve(true)
    })
  })
  const isReady = await ready
  if (!isReady) console.error('SKIPPED: the checks on Redis; there is no redis-server')
  return isReady ? port : null
}

function npm(folder, ...args) {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')}\n${stderr}`)
  return stdout
}
