import { execFile } from 'node:child_process'

/** How a command line ended, and what it brought to light. */
export interface Outcome {
  readonly exitCode: number
  readonly printed: string
  readonly complaints: string
  /** The status of each answer, in the order in which they came. */
  readonly statuses: readonly number[]
}

/** Name and text of the file that makes curl tell the status of each answer, for the folder {@link runLine} takes. */
export const curlSettings = {
  '.curlrc': 'silent\nshow-error\nnoproxy = "*"\nwrite-out = "%{stderr}answered %{http_code}\\n"\n',
} as const

/** Is curl there? */
export async function hasCurl(): Promise<boolean> {
  return (await run('command -v curl', {})).exitCode === 0
}

/** Runs a line of shell as it stands, with the curl that is installed; the folder holds {@link curlSettings}. `variables` are those of the shell. */
export async function runLine(
  line: string,
  folder: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { exitCode, stdout, stderr } = await run(line, { ...variables, CURL_HOME: folder })
  const statuses = [...stderr.matchAll(/^answered (\d{3})$/gm)].map(([, status]) => Number(status))
  return { exitCode, printed: stdout, complaints: stderr.replace(/^answered \d{3}\n/gm, ''), statuses }
}

function run(
  line: string,
  environment: Record<string, string>,
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment }
    const child = execFile('sh', ['-c', line], { env }, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    )
    child.stdin?.end()
  })
}
