/** Locks each folder whose path comes in on a line, and says whether it could. Run by `data-folder.test.ts`. */
import { createInterface } from 'node:readline'
import { lockFolder } from '../../examples/demo-server/data-folder.js'

for await (const folder of createInterface({ input: process.stdin })) {
  const outcome = await lockFolder(folder).then(
    () => 'locked',
    () => 'refused',
  )
  process.stdout.write(`${outcome}\n`)
}
