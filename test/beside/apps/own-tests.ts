import type { FastifyInstance, InjectOptions } from 'fastify'

/** A test of an app: its name, its user if there is one, method and URL, the status, the JSON or text of the body, and what else is sent or gotten. */
export type Row = readonly [
  name: string,
  asked: string,
  status: number,
  body?: unknown,
  rest?: Pick<InjectOptions, 'headers' | 'payload'> & {
    readonly fields?: Readonly<Record<string, string | RegExp>>
  },
]

export interface OwnTests {
  readonly rows: readonly Row[]
  /** The request that logs a user in. */
  readonly login?: (username: string) => InjectOptions
}

/** The requests of the tests of an app, in their order; their users log in. */
export async function requestsOf(app: FastifyInstance, { rows, login }: OwnTests): Promise<InjectOptions[]> {
  const cookies = new Map<string, string>()
  const requests: InjectOptions[] = []
  for (const [, asked, , , { headers, payload } = {}] of rows) {
    const [url = '', method, user] = asked.split(' ').reverse()
    if (user !== undefined && !cookies.has(user) && login !== undefined) {
      const { headers } = await app.inject(login(user))
      cookies.set(user, String(headers['set-cookie']).split(';')[0] ?? '')
    }
    const cookie = user === undefined ? {} : { cookie: cookies.get(user) ?? '' }
    const content = payload === undefined ? {} : { payload }
    requests.push({ method: method as 'GET', url, headers: { ...headers, ...cookie }, ...content })
  }
  return requests
}

/** Runs the tests of an app, in their order. Returns each response, whether its body is another one, and what else differs. */
export async function run(app: FastifyInstance, ownTests: OwnTests) {
  const outcomes = []
  const requests = await requestsOf(app, ownTests)
  for (const [index, row] of ownTests.rows.entries()) {
    const [, , status, body, { fields = {} } = {}] = row
    const response = await app.inject(requests[index] ?? {})
    const failures = Object.entries(fields)
      .filter(([name, wanted]) => !matches(response.headers[name], wanted))
      .map(([name]) => `${name}: ${response.headers[name]}`)
    if (response.statusCode !== status) failures.push(`status ${response.statusCode}`)
    outcomes.push({ row, response, failures, otherBody: body !== undefined && !matches(response.body, body) })
  }
  return outcomes
}

function matches(received: unknown, wanted: unknown): boolean {
  if (wanted instanceof RegExp) return wanted.test(String(received))
  return received === (typeof wanted === 'object' ? JSON.stringify(wanted) : wanted)
}
