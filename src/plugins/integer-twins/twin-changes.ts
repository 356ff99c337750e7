import { exactJson } from '../../json/exact-json.js'
import type { Write } from '../../json/object-writer.js'
import { numberName } from '../../json-schema/twins.js'

/** What twins change in an answer; each the path of the first member, `null` for none. */
export interface TwinChanges {
  /** A member that gets a twin. */
  readonly twin: string | null
  /** A member with a declared 64-bit integer that is a Number beyond 2^53: its digits are lost. */
  readonly lost: string | null
}

export function twinChanges(payload: unknown, write: Write): TwinChanges {
  const lostDigits = new Set<string>()
  const written = write(payload, (value) => lostDigits.add(BigInt(value).toString()))
  const added = addedTwins(JSON.parse(written), JSON.parse(exactJson(payload, false) ?? 'null'))
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
  const given = (typeof before === 'object' ? before : null) as Members | null
  return Object.entries(after).flatMap(([key, value]): AddedTwin[] => {
    const number = numberName(key)
    if (number !== null && Object.hasOwn(after, number) && !Object.hasOwn(given ?? {}, key))
      return [{ path: `${within}${number}`, twin: value }]
    return addedTwins(value, given?.[key], `${within}${key}.`)
  })
}
