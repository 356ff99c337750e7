import { execFile } from 'node:child_process'

/** Name and text of the file that makes curl tell the status of each answer, for the folder {@link runLine} takes. */
export const curlSettings = {
  '.curlrc': 'silent\nshow-error\nnoproxy = "*"\nwrite-out = "%{stderr}answered %{http_code}\\n"\n',
} as const

export async function hasCurl(): Promise<boolean> {
  return (await runLine('command -v curl', '')).exitCode === 0
}

/**
 * Runs a line of shell as it stands, with the curl that is installed; the folder holds {@link curlSettings}. Returns what it
 * wrote, and the status of each answer, in the order in which they came.
 */
export async function runLine(line: string, folder: string, variables: Record<string, string> = {}) {
  const env = { ...process.env, ...variables, CURL_HOME: folder }
  let [printed, said] = ['', '']
  const exitCode = await new Promise<number>((resolve) => {
    const child = execFile('sh', ['-c', line], { env }, (_error, out, err) => {
      ;[printed, said] = [out, err]
      resolve(child.exitCode ?? -1)
    })
    child.stdin?.end()
  })
  const statuses = [...said.matchAll(/^answered (\d{3})$/gm)].map(([, status]) => Number(status))
  return { exitCode, printed, complaints: said.replace(/^answered \d{3}\n/gm, ''), statuses }
}
