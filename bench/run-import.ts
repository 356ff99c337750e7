import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runRounds, type Samples } from './measure.js'
import type { ImportScenario, ImportVariant } from './scenario.js'

const execute = promisify(execFile)
// Below it, the package finds itself by its name.
const root = fileURLToPath(new URL('..', import.meta.url))

/** Loads the modules of each variant in interleaved rounds, each time in a fresh process, and gives CPU ms. */
export async function runImport(
  scenario: ImportScenario,
  settings: { readonly rounds: number; readonly warmUps: number },
): Promise<Samples> {
  return runRounds({
    variants: Object.keys(scenario.variants),
    ...settings,
    measure: async (name) => {
      const variant = scenario.variants[name]
      if (variant === undefined) throw new Error(`there is no variant '${name}'`)
      return (await microsToLoad(variant)) / 1000
    },
  })
}

/** No loader of TypeScript, as the process of the bench has one. */
async function microsToLoad({ modules, isCommonJs = false }: ImportVariant): Promise<number> {
  const load = isCommonJs ? 'require' : 'await import'
  const program = `
    const before = process.cpuUsage()
    for (const name of process.argv.slice(1)) ${load}(name)
    const { user, system } = process.cpuUsage(before)
    console.log(user + system)
    process.exit()`
  const type = `--input-type=${isCommonJs ? 'commonjs' : 'module'}`
  const { stdout } = await execute(process.execPath, [type, '-e', program, ...modules], { cwd: root })
  return Number(stdout)
}
