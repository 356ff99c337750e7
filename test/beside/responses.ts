import type { FastifyInstance, InjectOptions } from 'fastify'

export interface Sent {
  readonly status: number
  /** Name in lowercase and value, in the order of the response, repeated fields included. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

// What differs from response to response: the clock, and random values of plugins.
const unstable: readonly (readonly [RegExp, string])[] = [
  [/\b[\da-f]{32,}\b/g, '<random>'],
  [/((?:retry-after|x?-?ratelimit-reset): )\d+/gi, '$1<seconds>'],
  [/;t=\d+/g, ';t=<seconds>'],
  [/\breqId":"[^"]+/g, 'reqId":"<id>'],
  [/(last-modified: )(?!Thu, 19 Nov).*/gi, '$1<time of the file>'],
]

function stable(text: string): string {
  return unstable.reduce((changed, [pattern, replacement]) => changed.replace(pattern, replacement), text)
}

/** Sends a request, and returns the bytes of the response as text, without the `Date`. */
export async function sentBy(app: FastifyInstance, request: InjectOptions): Promise<Sent> {
  const response = await app.inject(request)
  // light-my-request gives an object of headers, which has no repeated fields.
  const { _header: head } = response.raw.res as unknown as { readonly _header: string }
  const fields = head
    .split('\r\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const [name = '', ...rest] = stable(line).split(': ')
      return [name.toLowerCase(), rest.join(': ')]
    })
    .filter(([name]) => name !== 'date' && name !== 'connection' && name !== 'keep-alive')
  return { status: response.statusCode, fields, body: stable(response.rawPayload.toString('latin1')) }
}

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
