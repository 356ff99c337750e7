/** What is done about a breach: refused, only told, or not looked for. */
export type Mode = 'enforce' | 'report' | 'off'

/** The values of {@link Mode}. */
export const modes = ['enforce', 'report', 'off'] as const

/** A route that breaks a rule, found while the app boots. */
export interface Finding {
  /** Plugin that owns the rule. */
  readonly plugin: string
  readonly rule: string
  /** Method and path pattern. */
  readonly route: string
  /** What is wrong. */
  readonly problem: string
  /** What to write instead. */
  readonly instead: string
  /** `enforce` stops the boot, `report` tells. */
  readonly mode: 'enforce' | 'report'
}

/** A rule that a route is excepted from, or a route that no rule looks at; always with the reason. */
export interface Exception {
  readonly plugin: string
  /** Method and path pattern; of an exception for many routes that none of them needs, its `url`. */
  readonly route: string
  /** The rules it is excepted from; all of the plugin's when the route is left alone. */
  readonly rules: readonly string[]
  readonly reason: string
  /** No route that it is for would break the rules without it: the exception can go. */
  readonly unused: boolean
}

/** How often requests met a rule in `report` mode, per rule and route. */
export interface Observation {
  readonly plugin: string
  readonly rule: string
  /** Path pattern, or `*` for paths that no route serves. */
  readonly route: string
  readonly count: number
  /** The first occurrence: what it was, never with values of a body. */
  readonly example: string
  /** Request id of the first occurrence. */
  readonly requestId: string
}

/** The findings as one table: rule, route, what is wrong, what to write instead. */
export function findingsTable(findings: readonly Finding[]): string {
  const header = ['route', 'rule', 'what is wrong', 'write instead']
  const rows = findings.map(({ route, plugin, rule, problem, instead }) => [
    route,
    `${plugin}.${rule}`,
    problem,
    instead,
  ])
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
