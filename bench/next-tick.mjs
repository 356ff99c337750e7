// What process.nextTick() costs before and after garbage collections of an idle process: node bench/next-tick.mjs [kept]
// With `kept`, one object of nextTick is kept alive, as the preset and serverOptions() do.
import { createHook } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export async function collectWhileIdle() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  for (let time = 0; time < 10; time++) {
    collect()
    await delay(50)
  }
}

export async function costOfTick() {
  const ticks = 2000
  let cheapest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 50; round++) {
    const start = process.cpuUsage()
    await new Promise((resolve) => {
      let left = ticks
      for (let tick = 0; tick < ticks; tick++) process.nextTick(() => --left === 0 && resolve(undefined))
    })
    const { user, system } = process.cpuUsage(start)
    cheapest = Math.min(cheapest, ((user + system) * 1000) / ticks)
    await delay(0)
  }
  return Math.round(cheapest)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const kept = []
  if (process.argv[2] === 'kept') {
    const hook = createHook({
      init: (_id, type, _trigger, tick) => type === 'TickObject' && kept.push(tick),
    })
    hook.enable()
    process.nextTick(() => {})
    hook.disable()
  }
  const before = await costOfTick()
  await collectWhileIdle()
  console.log(`Node.js ${process.version}: ${before} ns per tick, after collections ${await costOfTick()} ns`)
}
