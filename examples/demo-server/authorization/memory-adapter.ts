import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

const maxEntries = 10_000

interface Entry {
  readonly payload: AdapterPayload
  /** In milliseconds. */
  readonly expiresAt: number
}

/** Keeps sessions, codes and grants of the authorization server in memory; of too many, the oldest are forgotten. */
export function memoryAdapter(): AdapterFactory {
  const entries = new Map<string, Entry>()

  function find(isWanted: (payload: AdapterPayload, key: string) => boolean): AdapterPayload | undefined {
    for (const [key, { payload, expiresAt }] of entries) {
      if (expiresAt > Date.now() && isWanted(payload, key)) return payload
    }
    return undefined
  }

  function makeRoom(): void {
    for (const [key, { expiresAt }] of entries) {
      if (expiresAt > Date.now() && entries.size < maxEntries) return
      entries.delete(key)
    }
  }

  return function adapterOf(model): Adapter {
    const keyOf = (id: string) => `${model}:${id}`
    return {
      async upsert(id, payload, expiresIn) {
        makeRoom()
        const expiresAt = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1000
        entries.delete(keyOf(id))
        entries.set(keyOf(id), { payload, expiresAt })
      },
      async find(id) {
        const entry = entries.get(keyOf(id))
        return entry !== undefined && entry.expiresAt > Date.now() ? entry.payload : undefined
      },
      async findByUid(uid) {
        return find((payload, key) => key.startsWith(`${model}:`) && payload.uid === uid)
      },
      async findByUserCode(userCode) {
        return find((payload, key) => key.startsWith(`${model}:`) && payload.userCode === userCode)
      },
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
