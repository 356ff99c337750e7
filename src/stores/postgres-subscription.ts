import { scheduleTimeout } from '../time/schedule.js'
import type { PostgresPool } from './postgres-connection.js'

/** Listens to a channel on a connection of the pool that does nothing else. */
export async function listenTo(
  pool: PostgresPool,
  channel: string,
  hear: (payload: string) => void,
): Promise<() => void> {
  let isOver = false
  let letGo = () => {}

  const listen = async (): Promise<void> => {
    const connection = await pool.connect()
    let [isHeld, isListening] = [true, false]
    const end = () => {
      if (isHeld) connection.release(true)
      isHeld = false
      isListening = false
    }
    const lost = () => {
      const isToRetry = isListening && !isOver
      end()
      if (isToRetry) retry(0)
    }
    // A pool does not handle errors of a connection that is checked out; without a listener they end the process.
    connection.on('error', lost)
    connection.on('end', lost)
    connection.on('notification', ({ payload }) => {
      if (isHeld && payload !== undefined) hear(payload)
    })
    letGo = end
    try {
      await connection.query(`LISTEN ${channel}`)
      isListening = true
    } finally {
      if (!isListening || isOver) end()
    }
  }

  const retry = (failures: number) => {
    const delay = Math.min(firstDelay * 2 ** failures, longestDelay)
    letGo = scheduleTimeout(() => {
      listen().catch(() => {
        if (!isOver) retry(failures + 1)
      })
    }, delay)
  }

  await listen()
  return () => {
    isOver = true
    letGo()
  }
}

/** Milliseconds. */
const [firstDelay, longestDelay] = [100, 5_000]
