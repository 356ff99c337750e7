// Runs the tests for Stryker in its own process: Fastify, Ajv and tap are loaded once, not once per mutant and test file.
// The bundle of a test file is evaluated anew each time, with its sources, so that no state of a mutant is left.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { mock } from 'node:test'
import { pathToFileURL } from 'node:url'
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core'
import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { determineHitLimitReached, toMutantRunResult } from '@stryker-mutator/api/test-runner'

// What a tap test file runs in; `tap` itself would make one that takes over the process.
const requireOfTap = createRequire(createRequire(import.meta.url).resolve('tap'))
requireOfTap('@tapjs/core')
const { Test } = requireOfTap('@tapjs/test')
const { NAMESPACE, ACTIVE_MUTANT_ENV_VARIABLE } = INSTRUMENTER_CONSTANTS
const bundles = '.cache/tests/test'
// The milliseconds of each test file without a mutant, for the processes that test mutants.
const times = '.cache/tests/times.json'
// Gets a line per test file with all its assertions, and one per mutant and file that kills it with those that fail; each
// assertion comes after the names of its tests.
const { MUTATE_KILLERS: killersFile } = process.env
// The numbers of mutants have no order that tests know, so each tenth one is a fair sample.
const every = Number(process.env.MUTATE_EVERY ?? 1)
// Tests replace the clock.
const { setTimeout, clearTimeout } = globalThis

class BundleRunner {
  #evaluations = 0
  #folder = process.cwd()
  #times
  #fail = () => {}

  constructor() {
    // What a test that was cut short throws later must not end the process.
    const onError = (error) => error !== 'bailout' && this.#fail(error)
    process.on('uncaughtException', onError).on('unhandledRejection', onError)
  }

  capabilities() {
    return { reloadEnvironment: true }
  }

  async dryRun() {
    const result = await this.#run(this.#files(), { bail: false })
    const ofFiles = result.tests?.map(({ id, timeSpentMs }) => [id, timeSpentMs]) ?? []
    writeFileSync(times, JSON.stringify(Object.fromEntries(ofFiles)))
    return result
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, disableBail }) {
    // Stryker leaves a mutant with an error out of the score.
    if (activeMutant.id % every !== 0) return { status: 'error', errorMessage: 'not in the sample' }
    const run = { mutant: activeMutant.id, hitLimit, bail: !disableBail }
    this.#times ??= JSON.parse(readFileSync(times, 'utf8'))
    // The first failure ends the run of a mutant, so the fast files are first.
    const files = (testFilter ?? this.#files()).toSorted(
      (one, other) => this.#times[one] - this.#times[other],
    )
    return toMutantRunResult(await this.#run(files, run))
  }

  #files() {
    return readdirSync(bundles, { recursive: true })
      .filter((name) => name.endsWith('.test.js'))
      .map((name) => join(bundles, name))
  }

  async #run(files, { mutant, hitLimit, bail }) {
    globalThis[NAMESPACE] ??= {}
    const switches = globalThis[NAMESPACE]
    Object.assign(switches, {
      activeMutant: mutant,
      hitLimit,
      hitCount: hitLimit && 0,
      mutantCoverage: undefined,
    })
    // For programs that tests start.
    if (mutant === undefined) delete process.env[ACTIVE_MUTANT_ENV_VARIABLE]
    else process.env[ACTIVE_MUTANT_ENV_VARIABLE] = mutant
    const tests = []
    for (const file of files) {
      const start = Date.now()
      switches.currentTestId = file
      // A test file that waits forever fails sooner than by the limit of Stryker, after which a new process starts.
      const limit = mutant === undefined ? 2 ** 31 - 1 : 3_000 + 3 * this.#times[file]
      const failure = await this.#failureOf(file, bail, limit)
      const timeSpentMs = Date.now() - start
      const test = { id: file, name: file, fileName: file, timeSpentMs }
      tests.push(failure === null ? { ...test, status: 0 } : { ...test, status: 1, failureMessage: failure })
      const overrun = determineHitLimitReached(switches.hitCount, hitLimit)
      if (overrun !== undefined) return overrun
      if (failure !== null && bail) break
    }
    return { status: 'complete', tests, mutantCoverage: switches.mutantCoverage }
  }

  /** Returns the first failure of a test file; `null` for none. */
  async #failureOf(file, bail, limit) {
    const root = new Test({ name: file, bail })
    root.resume()
    const { activeMutant = null } = globalThis[NAMESPACE]
    const noted = []
    const isNoted = ({ ok, todo }) => activeMutant === null || !(ok || todo)
    if (!bail && killersFile) watch(root.parser, [], isNoted, noted)
    const end = new Promise((resolve) => {
      this.#fail = (reason) => resolve(String(reason?.message ?? reason))
      root.once('bailout', this.#fail)
      root.once('complete', ({ ok, failures }) =>
        resolve(ok ? null : JSON.stringify(failures).slice(0, 2000)),
      )
    })
    const timer = setTimeout(() => this.#fail('no end'), limit)
    try {
      // The bundles take it in place of `tap`.
      globalThis.rootOfTests = root
      this.#evaluations += 1
      await import(`${pathToFileURL(resolve(file))}?${this.#evaluations}`)
      root.end()
      return await end
    } catch (error) {
      return String(error)
    } finally {
      if (noted.length > 0) {
        appendFileSync(killersFile, `${JSON.stringify({ mutant: activeMutant, file, assertions: noted })}\n`)
      }
      clearTimeout(timer)
      this.#fail = () => {}
      // A test with `testdir()` may have changed the folder of the process.
      process.chdir(this.#folder)
      mock.reset()
    }
  }
}

/** Collects assertions of a parser of TAP, and of its subtests. */
function watch(parser, path, isNoted, found) {
  parser.on('assert', (result) => isNoted(result) && found.push([...path, result.name]))
  parser.on('child', (child) => watch(child, [...path, child.name], isNoted, found))
}

/**
 * Leaves out texts for people, which tests do not check: strings with a space. Names of fields and directives have none.
 * The names of slots are for people, too: what counts is that no other slot has the same.
 */
const texts = {
  shouldIgnore({ node, parent }) {
    if (parent?.type === 'CallExpression' && /Slot$/.test(parent.callee.name)) return 'a name for people'
    const parts =
      node.type === 'TemplateLiteral'
        ? node.quasis.map((part) => part.value.raw)
        : node.type === 'StringLiteral'
          ? [node.value]
          : []
    return parts.some((part) => part.includes(' ')) ? 'a text for people' : undefined
  },
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, 'bundles', BundleRunner),
  declareValuePlugin(PluginKind.Ignore, 'texts', texts),
]
