import type { OperationStore } from '../../../src/plugins/operations/stores/store.js'

/** What a store does when it is asked: as it should, refuse, never answer, or do it and lose the answer. */
export type StoreMood = 'well' | 'fails' | 'hangs' | 'loses answers'

/** A store that can be told to misbehave. */
export interface UnrulyStore extends OperationStore {
  mood: StoreMood
  /** The moods of single methods, before that of the store. */
  readonly moods: Partial<Record<keyof OperationStore, StoreMood>>
  /** How often each method was called. */
  readonly calls: Partial<Record<keyof OperationStore, number>>
}

/** What a store that fails fails with. */
export const downMessage = 'connect ECONNREFUSED'

/** A view of a store as one process has it, shared with others unless said otherwise. */
export function unruly(store: OperationStore, isShared = true): UnrulyStore {
  const calls: UnrulyStore['calls'] = {}
  const moods: UnrulyStore['moods'] = {}
  const view = { mood: 'well', moods, calls, isShared } as UnrulyStore

  const moody =
    <Given extends readonly unknown[], Answer>(
      name: keyof OperationStore,
      ask: (...given: Given) => Promise<Answer>,
    ) =>
    async (...given: Given): Promise<Answer> => {
      calls[name] = (calls[name] ?? 0) + 1
      const mood = moods[name] ?? view.mood
      if (mood === 'fails') throw new Error(downMessage)
      if (mood === 'hangs') return new Promise(() => {})
      const answer = await ask(...given)
      if (mood === 'loses answers') throw new Error(downMessage)
      return answer
    }

  return Object.assign(view, {
    check: moody('check', store.check),
    create: moody('create', store.create),
    get: moody('get', store.get),
    replace: moody('replace', store.replace),
    remove: moody('remove', store.remove),
    input: moody('input', store.input),
    takeDue: moody('takeDue', store.takeDue),
    expire: moody('expire', store.expire),
    list: moody('list', store.list),
    usage: moody('usage', store.usage),
    announce: moody('announce', store.announce),
    listen: moody('listen', store.listen),
  })
}
