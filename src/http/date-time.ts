const dateTime =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * An RFC 3339 date-time as the same instant in UTC, its fraction of a second kept digit by digit; `null` for anything
 * else, also for a day that the month does not have. Leap seconds are not taken.
 */
export function utcDateTime(text: string): string | null {
  const match = dateTime.exec(text)
  if (match === null) return null
  const [
    ,
    year = '',
    month = '',
    day = '',
    hours = '',
    minutes = '',
    seconds = '',
    fraction = '',
    offset = '',
  ] = match
  const whole = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}`
  const local = new Date(`${whole}Z`)
  // An hour of 24 or a 30th of February is a valid Date, but of another day.
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 19) !== whole) return null
  const utc = new Date(`${whole}${offset.toUpperCase()}`)
  const year4 = utc.getUTCFullYear()
  // The offset may lead beyond the years that have four digits.
  return year4 < 1 || year4 > 9999 ? null : `${utc.toISOString().slice(0, 19)}${fraction}Z`
}
