import { createHook } from 'node:async_hooks'
import { sharedByCopies } from './convention/slots.js'
import { flag, option } from './options.js'

export const fastTicksOption = option(flag, true)

/**
 * Keeps one object of `process.nextTick()` alive for the life of the process. In Node.js 20 to 24, V8 forgets the shape of
 * these objects when it collects garbage while none is alive, as in an idle server. From then on a tick takes five times as
 * long. Only an async hook gets such an object.
 */
export function keepTicksFast(): void {
  // Bun and Deno implement ticks in another way, and Bun warns about async hooks.
  if ('bun' in process.versions || 'deno' in process.versions) return
  sharedByCopies('tick', () => {
    const kept: object[] = []
    const hook = createHook({
      init: (_id, type, _trigger, resource) => void (type === 'TickObject' && kept.push(resource)),
    })
    hook.enable()
    process.nextTick(() => undefined)
    hook.disable()
    return kept
  })
}
