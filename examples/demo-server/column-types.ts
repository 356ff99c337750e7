/** What the text that PostgreSQL sends for a type becomes, by the type's object id; both backends read it. */
export const columnParsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  20: BigInt,
  23: Number,
  1184: toRfc3339,
  3802: JSON.parse,
}

const utcTimestamp = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/

/** `2025-01-31 09:30:00.5+00` as `2025-01-31T09:30:00.500Z`. The session's time zone is UTC. */
function toRfc3339(text: string): string {
  const match = utcTimestamp.exec(text)
  if (match === null) throw new Error(`expected a timestamp of milliseconds in UTC, received ${text}`)
  const [, date, time, fraction = ''] = match
  return `${date}T${time}.${fraction.padEnd(3, '0')}Z`
}
