import { setTimeout } from 'node:timers/promises'

/** Asks again and again until the answer is enough: for what another process does in its own time. */
export async function until<T>(
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean,
  milliseconds = 60_000,
  every = 25,
): Promise<T> {
  const deadline = Date.now() + milliseconds
  for (;;) {
    const answer = await ask()
    if (isEnough(answer)) return answer
    if (Date.now() > deadline) throw new Error(`not in time; the last answer was ${JSON.stringify(answer)}`)
    await setTimeout(every)
  }
}
