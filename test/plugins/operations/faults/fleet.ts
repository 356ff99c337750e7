import type { ChildProcess } from 'node:child_process'
import type { Test } from 'tap'
import { startProgram } from '../../../support/program.js'
import { until } from '../../../support/until.js'

export interface MemberSetUp {
  readonly role: 'web' | 'worker'
  /** Milliseconds. */
  readonly lease: number
  /** URL of the server that has the records and the queue; one of the two. */
  readonly redis?: string
  readonly postgres?: string
  /** Whether a run counts its effect in the database, and so fails without it. */
  readonly effects?: boolean
}

export interface Member {
  readonly process: ChildProcess
  /** Where it listens; `''` for a worker. */
  readonly origin: string
  /** The ids of the operations that it began to run, in their order. */
  readonly runs: readonly string[]
  readonly log: readonly string[]
}

type Server = Pick<Member, 'origin'>

export interface State {
  readonly status: string
  readonly result?: { readonly run: number }
  readonly error?: { readonly code: string }
}

/** Starts a member, and waits until it serves or works; it ends with the test. */
export async function startMember(t: Test, setUp: MemberSetUp): Promise<Member> {
  const [runs, log]: [string[], string[]] = [[], []]
  const { process, at } = await startProgram(t, new URL('member.ts', import.meta.url), setUp, (line) => {
    const id = /^run (\S+)/.exec(line)?.[1]
    if (id === undefined) log.push(line)
    else runs.push(id)
  })
  return { process, origin: at.startsWith('http') ? at : '', runs, log }
}

/** Starts an operation; its path, and `null` for a 503. */
export async function startWork(member: Server, milliseconds: number): Promise<string | null> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ milliseconds })
  const answer = await ask(member, '/v1/works', 202, { method: 'POST', headers, body })
  return answer && (answer.headers.get('location') ?? '')
}

/** Polls an operation; `null` for a 503. */
export async function stateOf(member: Server, path: string): Promise<State | null> {
  const answer = await ask(member, path, 200)
  return answer === null ? null : ((await answer.json()) as State)
}

async function ask({ origin }: Server, path: string, expected: number, init: RequestInit = {}) {
  const answer = await fetch(`${origin}${path}`, { ...init, signal: AbortSignal.timeout(15_000) })
  if (answer.status === expected) return answer
  await answer.arrayBuffer()
  if (answer.status === 503 && Number(answer.headers.get('retry-after')) >= 1) return null
  throw new Error(`a request was answered with ${answer.status}`)
}

/** Polls the members by turns until the operation has ended. */
export async function endOf(members: readonly Member[], path: string, within = 60_000): Promise<State> {
  let turn = 0
  const poll = () => stateOf(members[turn++ % members.length] as Member, path)
  const isOver = (state: State | null) => state !== null && state.status !== 'In progress'
  return (await until(poll, isOver, within, 100)) as State
}
