import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { MemoryReading } from './scenario.js'

/** Collects garbage, and reads the memory of this process. */
export function readMemory(): MemoryReading {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // What a finalizer lets go is collected by the next one.
  for (let time = 0; time < 3; time++) collect()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss }
}
