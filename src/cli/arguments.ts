import { parseArgs } from 'node:util'

const formats = ['table', 'json', 'github'] as const

export interface CheckArguments {
  readonly file: string
  readonly format: (typeof formats)[number]
  /** The mode in which the preset is registered, unless the app registers conventions itself. */
  readonly mode: 'report' | 'enforce'
  readonly timeout: number
}

export const usage = `usage: fastify-conventions check <file> [options]

Boots the app that the file exports, prints what its routes break, and closes it. It does not listen.

<file> exports, as its default or as module.exports, a plugin (app, options), a function without parameters that
returns an app, or an app.

  --format table|json|github           default: table
  --mode report|enforce                how the preset is registered, unless the app registers conventions; default: report
  --timeout <seconds>                  until the app has to be ready; default: 60
  --help

exit code: 0 without errors, 1 with findings that stop the boot under enforce, 2 if the app cannot be loaded`

export function readArguments(args: readonly string[]): CheckArguments | { readonly error: string } | 'help' {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        format: { type: 'string', default: 'table' },
        mode: { type: 'string', default: 'report' },
        timeout: { type: 'string', default: '60' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return 'help'
    const [command, file, ...others] = positionals
    if (command !== 'check') throw new Error(`expected the command check, received ${command ?? 'none'}`)
    if (file === undefined || others.length > 0) throw new Error('expected one file')
    const timeout = Number(values.timeout)
    if (!(timeout > 0 && timeout <= 3600))
      throw new Error(`--timeout: expected seconds up to 3600, received ${values.timeout}`)
    const format = oneOf(formats, '--format', values.format)
    const mode = oneOf(['report', 'enforce'], '--mode', values.mode)
    return { file, format, mode, timeout }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

function oneOf<const Value extends string>(values: readonly Value[], name: string, given: string): Value {
  const found = values.find((value) => value === given)
  if (found === undefined) throw new Error(`${name}: expected one of ${values.join(', ')}, received ${given}`)
  return found
}
