import { parseArgs } from 'node:util'

/** What the command line asks for. */
export interface Arguments {
  readonly help: boolean
  /** Whether nothing is run, and all files are made anew of the data that there is. */
  readonly page: boolean
  /** The scenarios to run; `null` for all that a whole run has. */
  readonly names: readonly string[] | null
  /** Fewer and shorter rounds. */
  readonly quick: boolean
  /** In place of each scenario's own number. */
  readonly rounds: number | undefined
  /** In place of each load scenario's own number. */
  readonly requests: number | undefined
  /** Requests per second of load scenarios, in place of as many as the server answers. */
  readonly rate: number | undefined
}

const mostRounds = 1_000
const mostRequests = 1_000_000
const mostRate = 100_000

/** Reads the arguments. @throws Error that says what is wrong, for the person at the keyboard. */
export function readArguments(args: readonly string[], known: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      page: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      requests: { type: 'string' },
      rate: { type: 'string' },
    },
  })
  return {
    help: values.help,
    page: values.page,
    names: values.only === undefined ? null : chosen(values.only, known),
    quick: values.quick,
    rounds: count('--rounds', values.rounds, mostRounds),
    requests: count('--requests', values.requests, mostRequests),
    rate: count('--rate', values.rate, mostRate),
  }
}

/** What `--help` prints. */
export function helpText(known: readonly string[]): string {
  return `Measures what the conventions cost, against bare Fastify and against their peers.

npm run bench -- [options]

  --only <name>    run this scenario only; may be given more than once
  --quick          fewer and shorter rounds: all scenarios in about half an hour
  --page           run nothing; make the files and docs/performance.md anew, of the results that there are
  --rounds <n>     rounds that count, per scenario (1 to ${mostRounds})
  --requests <n>   requests per variant and round, for scenarios under load (1 to ${mostRequests})
  --rate <n>       requests per second (1 to ${mostRate}), for scenarios under load; without it, as many as are answered
  -h, --help       print this

Scenarios: ${known.join(', ')}

Scenarios of memory take minutes and run only by --only. Each scenario writes bench/results/<name>.json, .md and .svg;
docs/performance.md is made of all of them.
How to read the figures: bench/README.md`
}

function chosen(names: readonly string[], known: readonly string[]): string[] {
  for (const name of names) {
    if (!known.includes(name))
      throw new Error(`--only: expected one of ${known.join(', ')}, received '${name}'`)
  }
  return [...new Set(names)]
}

function count(option: string, value: string | undefined, most: number): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (/^\d+$/.test(value) && number >= 1 && number <= most) return number
  throw new Error(`${option}: expected a whole number from 1 to ${most}, received '${value}'`)
}
