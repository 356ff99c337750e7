import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { startProgram } from '../../../support/program.js'

/** The set-up of a member. */
export interface MemberSetUp {
  readonly role: 'web' | 'worker'
  /** Milliseconds. */
  readonly lease: number
  /** URL of the server that has the records and the queue; one of the two. */
  readonly redis?: string
  readonly postgres?: string
  /** Whether a run counts its effect in the database, and so fails without it. */
  readonly effects?: boolean
  /** Milliseconds by which the clock of the process is wrong. */
  readonly clockShift?: number
}

/** A process of the fleet. */
export interface Member {
  readonly process: ChildProcess
  /** Where it listens; `''` for a worker. */
  readonly origin: string
  /** The ids of the operations that it began to run, in their order. */
  readonly runs: readonly string[]
  /** The lines of its log. */
  readonly log: readonly string[]
}

/** How an operation stands. */
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
export async function startWork(
  { origin }: Pick<Member, 'origin'>,
  milliseconds: number,
): Promise<string | null> {
  const response = await fetch(`${origin}/v1/works`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ milliseconds }),
    signal: AbortSignal.timeout(15_000),
  })
  await response.arrayBuffer()
  if (response.status === 503 && Number(response.headers.get('retry-after')) >= 1) return null
  if (response.status !== 202) throw new Error(`a start was answered with ${response.status}`)
  return response.headers.get('location') ?? ''
}

/** Polls an operation; `null` for a 503. */
export async function stateOf({ origin }: Pick<Member, 'origin'>, path: string): Promise<State | null> {
  const response = await fetch(`${origin}${path}`, {
    redirect: 'manual',
    signal: AbortSignal.timeout(15_000),
  })
  const body = (await response.json()) as State
  if (response.status === 503 && Number(response.headers.get('retry-after')) >= 1) return null
  if (response.status !== 200) throw new Error(`a poll was answered with ${response.status}`)
  return body
}

/** Polls the members by turns until the operation has ended. */
export async function endOf(members: readonly Member[], path: string, within = 60_000): Promise<State> {
  const deadline = Date.now() + within
  for (let turn = 0; Date.now() < deadline; turn += 1) {
    const member = members[turn % members.length] as Member
    const state = await stateOf(member, path)
    if (state !== null && state.status !== 'In progress') return state
    await pause(100)
  }
  throw new Error(`${path} has not ended after ${within / 1000} seconds`)
}
