// Changes the sources of a convention in one place at a time, and checks that a test fails (mutation testing):
// npm run test:mutation [-- folder of src/plugins …] [option of Stryker …]
// Without names, it tests all conventions, which takes hours.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const stryker = 'checks/node_modules/.bin/stryker'
const args = process.argv.slice(2)
const named = args.filter((arg) => !arg.startsWith('-'))
const options = args.filter((arg) => arg.startsWith('-'))
let failed = false
for (const name of named.length > 0 ? named : readdirSync('src/plugins')) {
  const { status } = spawnSync(stryker, ['run', 'checks/stryker.config.mjs', ...options], {
    stdio: 'inherit',
    env: { ...process.env, MUTATE: name },
  })
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
