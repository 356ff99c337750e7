import type { Write } from '../../json/object-writer.js'
import { numberName } from '../../json-schema/twins.js'

/** What twins change in an answer; each the path of the first member, `null` for none. */
export interface TwinChanges {
  /** A member that gets a twin. */
  readonly twin: string | null
  /** A member with a declared 64-bit integer that is a Number beyond 2^53: its digits are lost. */
  readonly lost: string | null
}

export function twinChanges(payload: unknown, writeWithTwins: Write, writeWithout: Write): TwinChanges {
  const lostDigits = new Set<string>()
  const written = writeWithTwins(payload, (value) => lostDigits.add(BigInt(value).toString()))
  const added = addedTwins(JSON.parse(written), JSON.parse(writeWithout(payload, () => {})))
  const isLost = ({ twin }: AddedTwin): boolean =>
    [twin].flat(Number.POSITIVE_INFINITY).some((digits) => lostDigits.has(digits as string))
  return {
    twin: added.find((one) => !isLost(one))?.path ?? null,
    lost: added.find(isLost)?.path ?? null,
  }
}

interface AddedTwin {
  /** The path of the number. */
  readonly path: string
  readonly twin: unknown
}

type Members = Readonly<Record<string, unknown>>

function addedTwins(after: unknown, before: unknown, within = ''): AddedTwin[] {
  if (typeof after !== 'object' || after === null) return []
  return Object.entries(after).flatMap(([key, value]): AddedTwin[] => {
    const isNew = typeof before === 'object' && before !== null && !Object.hasOwn(before, key)
    if (isNew) return [{ path: `${within}${numberName(key) ?? key}`, twin: value }]
    return addedTwins(value, (before as Members | null)?.[key], `${within}${key}.`)
  })
}
