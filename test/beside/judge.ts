import type { Sent } from './responses.js'

/** The header fields that are lists, whose members a second plugin must not repeat. */
const lists =
  `access-control-allow-headers access-control-allow-methods access-control-expose-headers allow cache-control link
  ratelimit ratelimit-policy vary`.split(/\s+/)

/** What becomes another one with the body of an error. */
const ofErrorBody = ['content-type', 'content-length', 'cache-control', 'etag']

const membersOf = (value: string): string[] => value.split(',').map((member) => member.trim().toLowerCase())

/** Returns what is repeated in a response: a header, or a member of a list. */
export function repeatedIn({ fields }: Sent): string[] {
  const once = fields.filter(([name]) => name !== 'set-cookie')
  const names = once.map(([name]) => name)
  const inLists = once
    .filter(([name]) => lists.includes(name))
    .flatMap(([name, value]) => membersOf(value).map((member) => `${name}: ${member}`))
  const cookies = fields
    .filter(([name]) => name === 'set-cookie')
    .map(([, value]) => value.split('=')[0] ?? '')
  return [names, inLists, cookies].flatMap((all) => all.filter((one, index) => all.indexOf(one) < index))
}

/** Returns what the app sends without the conventions, and no longer sends with them. */
export function lostIn(before: Sent, after: Sent): string[] {
  const isError = before.status >= 400
  const lost = before.fields
    .filter(([name]) => !(isError && ofErrorBody.includes(name)))
    .filter(([name, value]) => {
      const found = after.fields.filter(([other]) => other === name).map(([, other]) => other)
      if (name === 'vary') {
        const members = membersOf(found.join())
        return membersOf(value).some((member) => !members.includes(member))
      }
      return !found.includes(value)
    })
    .map(([name, value]) => `${name}: ${value}`)
  if (before.status !== after.status) lost.push(`status ${before.status}, now ${after.status}`)
  if (!isError && before.body !== after.body) lost.push(`body ${before.body}, now ${after.body}`)
  return lost
}

/** Returns responses with their fields sorted, because their order has no meaning, except some responses. */
export function unordered(
  responses: Readonly<Record<string, Sent>>,
  except: readonly string[] | 'all' = [],
): Record<string, Sent> {
  const compared = Object.entries(responses).filter(([name]) => !except.includes(name))
  const sorted = compared.map(([name, sent]): [string, Sent] => [
    name,
    { ...sent, fields: [...sent.fields].sort(([one], [other]) => one.localeCompare(other)) },
  ])
  return Object.fromEntries(sorted)
}
