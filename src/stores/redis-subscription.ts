/** A connection to Redis for a subscription, such as that of `duplicate()` of ioredis. */
export interface RedisSubscriber {
  readonly status: string
  connect(): Promise<unknown>
  disconnect(): void
  subscribe(channel: string): Promise<unknown>
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'ready' | 'close', listener: () => void): unknown
}

export async function subscribeTo(
  subscriber: RedisSubscriber,
  channel: string,
  hear: (message: string) => void,
): Promise<() => void> {
  let isOver = false
  let fault: Error | undefined
  // An `error` event without a listener ends the process.
  subscriber.on('error', (error) => {
    fault = error
  })
  subscriber.on('message', (_channel, message) => {
    if (!isOver) hear(message)
  })
  const stop = () => {
    isOver = true
    subscriber.disconnect()
  }
  try {
    await new Promise<void>((resolve, reject) => {
      const subscribe = () => void subscriber.subscribe(channel).then(() => resolve(), reject)
      // At each connection, because the app may have turned off automatic resubscription.
      subscriber.on('ready', subscribe)
      subscriber.on('close', () =>
        reject(new Error('Redis cannot be reached to listen to it', { cause: fault })),
      )
      if (subscriber.status === 'wait') subscriber.connect().catch(reject)
    })
  } catch (error) {
    stop()
    throw error
  }
  return stop
}
