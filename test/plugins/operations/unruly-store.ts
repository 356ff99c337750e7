import type { OperationStore } from '../../../src/plugins/operations/stores/store.js'

/** How a store answers: as it should, with an error, never, or with an error after it has done it. */
export type StoreMood = 'well' | 'fails' | 'hangs' | 'loses answers'

export interface UnrulyStore extends OperationStore {
  mood: StoreMood
  /** The moods of single methods, instead of that of the store. */
  readonly moods: Partial<Record<keyof OperationStore, StoreMood>>
  /** How often each method was called. */
  readonly calls: Partial<Record<keyof OperationStore, number>>
}

const downMessage = 'connect ECONNREFUSED'

type Method = (...given: readonly unknown[]) => Promise<unknown>

/** Returns a store as one process sees it, shared with others unless `isShared` is `false`. */
export function unruly(store: OperationStore, isShared = true): UnrulyStore {
  const view = { ...store, isShared, mood: 'well', moods: {}, calls: {} } as UnrulyStore
  for (const [name, method] of Object.entries(store)) {
    if (typeof method === 'function' && name !== 'within') {
      Object.assign(view, { [name]: unrulyMethod(view, name as keyof OperationStore, method as Method) })
    }
  }
  return view
}

function unrulyMethod(view: UnrulyStore, name: keyof OperationStore, method: Method): Method {
  return async (...given) => {
    view.calls[name] = (view.calls[name] ?? 0) + 1
    const mood = view.moods[name] ?? view.mood
    if (mood === 'fails') throw new Error(downMessage)
    if (mood === 'hangs') return new Promise(() => {})
    const answer = await method(...given)
    if (mood === 'loses answers') throw new Error(downMessage)
    return answer
  }
}
