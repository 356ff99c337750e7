import { readFile, stat } from 'node:fs/promises'
import { type ReadNotice, readNotice } from './notice.js'

/**
 * What a file says of a maintenance: `null` where there is none. Whatever is at the path means maintenance, also what is
 * no notice, cannot be read, or is no file.
 *
 * @throws the error of the file system where it cannot be told whether there is one
 */
export async function readMaintenanceFile(path: string): Promise<ReadNotice | null> {
  try {
    const found = await stat(path)
    if (!found.isFile()) return { notice: {}, fault: 'it is no file' }
    if (found.size > largest) return { notice: {}, fault: `it has more than ${largest} bytes` }
  } catch (error) {
    if (isAbsence(error)) return null
    throw error
  }
  try {
    const content = (await readFile(path, 'utf8')).trim()
    return content === '' ? { notice: {}, fault: null } : readNotice(JSON.parse(content))
  } catch (error) {
    if (isAbsence(error)) return null
    return { notice: {}, fault: error instanceof SyntaxError ? 'it is no JSON' : 'it cannot be read' }
  }
}

const largest = 65_536

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
