/** Processes on one store that fails for each of them by turns: each operation ends once. */
import t from 'tap'
import type { WorkContext } from '../../../src/plugins/operations/define.js'
import type { OperationEnd } from '../../../src/plugins/operations/record.js'
import { memoryOperationStore } from '../../../src/plugins/operations/stores/memory.js'
import { manualClock } from '../../support/manual-clock.js'
import { lease, start, succeeded, sure } from './samples.js'
import { testProcess } from './test-process.js'
import { unruly } from './unruly-store.js'

t.test('200 operations end once each while the stores fail by turns', async (t) => {
  const clock = manualClock(start)
  const memory = memoryOperationStore()
  const stores = [unruly(memory), unruly(memory), unruly(memory)]
  const slowly = ({ signal }: WorkContext) =>
    new Promise<OperationEnd>((resolve, reject) => {
      clock.schedule(() => resolve(succeeded), 3_000)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const processes = stores.map((store) =>
    testProcess({
      store,
      clock,
      works: { work: { maxRuns: 100, run: slowly } },
      concurrency: 7,
    }),
  )
  for (const process of processes) await process.start()
  const ids: string[] = []
  for (let count = 0; count < 200; count += 1) ids.push((await sure(processes[count % 3]).begin()).id)
  const moods = ['fails', 'well', 'hangs', 'well', 'loses answers', 'well'] as const
  for (let turn = 0; turn < 40; turn += 1) {
    sure(stores[turn % 3]).mood = sure(moods[turn % moods.length])
    await clock.advance(4_000)
  }
  for (const store of stores) store.mood = 'well'
  await clock.advance(20 * lease)
  const found = await Promise.all(ids.map((id) => memory.get(id)))
  t.equal(found.filter((record) => record?.status === 'Succeeded').length, 200)
  const ended = processes.flatMap(({ ended }) => ended.map(({ id }) => id))
  t.equal(new Set(ended).size, ended.length, 'each end is reported once')
})
