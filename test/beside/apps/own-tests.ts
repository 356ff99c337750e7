import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

/** A test of an app: a request, and what it has to get. */
export interface OwnTest {
  readonly name: string
  /** The user who sends it. */
  readonly as?: string
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string | object
  readonly status: number
  readonly fields?: Readonly<Record<string, string | RegExp>>
  /** The JSON or the text of the body. */
  readonly body?: unknown
}

/** The tests of an app. */
export interface OwnTests {
  readonly tests: readonly OwnTest[]
  /** The request that logs a user in. */
  readonly login?: (username: string) => InjectOptions
}

/** What a test got. */
export interface Outcome {
  readonly test: OwnTest
  readonly response: LightMyRequestResponse
  /** Whether the body is not the one that the test expects. */
  readonly otherBody: boolean
  /** What else differs. */
  readonly failures: readonly string[]
}

/** A test as its app writes it: the second member is the user, if there is one, the method and the URL. */
export type Row = readonly [
  name: string,
  asked: string,
  status: number,
  body?: unknown,
  rest?: Pick<OwnTest, 'headers' | 'payload' | 'fields'>,
]

export function testOf([name, asked, status, body, rest = {}]: Row): OwnTest {
  const [url = '', method, as] = asked.split(' ').reverse()
  const user = as === undefined ? {} : { as }
  return { name, url, method: method as 'GET', status, body, ...user, ...rest }
}

/** Runs the tests of an app, in their order. */
export async function run(app: FastifyInstance, { tests, login }: OwnTests): Promise<Outcome[]> {
  const cookies = new Map<string, string>()
  const outcomes: Outcome[] = []
  for (const test of tests) {
    const { as, method = 'GET', url, headers, payload } = test
    if (as !== undefined && !cookies.has(as) && login !== undefined) {
      const { headers } = await app.inject(login(as))
      cookies.set(as, String(headers['set-cookie']).split(';')[0] ?? '')
    }
    const cookie = as === undefined ? {} : { cookie: cookies.get(as) ?? '' }
    const response = await app.inject({
      method,
      url,
      headers: { ...headers, ...cookie },
      ...(payload !== undefined && { payload }),
    })
    outcomes.push({ test, response, ...judge(test, response) })
  }
  return outcomes
}

function judge({ status, fields = {}, body }: OwnTest, response: LightMyRequestResponse) {
  const failures = Object.entries(fields)
    .filter(([name, wanted]) => !matches(response.headers[name], wanted))
    .map(([name]) => `${name}: ${response.headers[name]}`)
  if (response.statusCode !== status) failures.push(`status ${response.statusCode}`)
  return { failures, otherBody: body !== undefined && !matches(response.body, body) }
}

function matches(received: unknown, wanted: unknown): boolean {
  if (wanted instanceof RegExp) return wanted.test(String(received))
  return received === (typeof wanted === 'object' ? JSON.stringify(wanted) : wanted)
}
