/** One line of the log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: number; readonly msg?: string }

/** Levels of the log, by their names. */
export const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const

export type Logs = ReturnType<typeof keepLogs>

/** Keeps the log of an app, which gets `logger` as the option of Fastify. */
export function keepLogs(level: keyof typeof levels = 'debug') {
  const lines: LogLine[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as LogLine)
  return { logger: { level, stream: { write } }, lines }
}
