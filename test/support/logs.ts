/** One line of the log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: number; readonly msg?: string }

/** A log that a test reads. */
export interface Logs {
  /** For the Fastify option `logger`. */
  readonly logger: { readonly level: string; readonly stream: { write(line: string): void } }
  readonly lines: LogLine[]
}

/** Levels of the log, by their names. */
export const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const

/** Keeps the log of an app. */
export function keepLogs(level: keyof typeof levels = 'debug'): Logs {
  const lines: LogLine[] = []
  return {
    logger: { level, stream: { write: (line) => void lines.push(JSON.parse(line) as LogLine) } },
    lines,
  }
}
