import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

const maxEntries = 10_000

interface Entry {
  readonly payload: AdapterPayload
  readonly expiresAt: number
}

/** Keeps sessions, codes and grants in memory; the oldest go first. oidc-provider has one that warns at each start. */
export function memoryAdapter(): AdapterFactory {
  const entries = new Map<string, Entry>()

  function removeOldest(): void {
    for (const [key, { expiresAt }] of entries) {
      if (expiresAt > Date.now() && entries.size < maxEntries) return
      entries.delete(key)
    }
  }

  return function adapterOf(model): Adapter {
    const keyOf = (id: string) => `${model}:${id}`
    const payloadOf = (entry: Entry | undefined) =>
      entry !== undefined && entry.expiresAt > Date.now() ? entry.payload : undefined
    return {
      async upsert(id, payload, expiresIn = Number.POSITIVE_INFINITY) {
        removeOldest()
        entries.delete(keyOf(id))
        entries.set(keyOf(id), { payload, expiresAt: Date.now() + expiresIn * 1000 })
      },
      find: async (id) => payloadOf(entries.get(keyOf(id))),
      // Only sessions have one.
      findByUid: async (uid) => payloadOf([...entries.values()].find(({ payload }) => payload.uid === uid)),
      // Only the device grant uses it, which is off.
      findByUserCode: async () => undefined,
      async consume(id) {
        const entry = entries.get(keyOf(id))
        if (entry !== undefined) entry.payload.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        entries.delete(keyOf(id))
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
      },
    }
  }
}
