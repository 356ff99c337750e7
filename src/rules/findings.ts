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
  /** `enforce` stops the boot, `report` only logs. */
  readonly mode: 'enforce' | 'report'
}

/** Rules that do not apply to a route, by a declared exception or because no rule applies to the route. */
export interface Exception {
  readonly plugin: string
  /** Method and path pattern; the `url` of an exception for many routes if none of them needs it. */
  readonly route: string
  /** The rules that do not apply; all rules of the plugin if the route is excluded. */
  readonly rules: readonly string[]
  readonly reason: string
  /** Whether all its routes keep the rules without it, so that the exception can be removed. */
  readonly unused: boolean
}

/** How often requests broke a rule in `report` mode, per rule and route. */
export interface Observation {
  readonly plugin: string
  readonly rule: string
  /** Path pattern, or `*` for paths that no route serves. */
  readonly route: string
  readonly count: number
  /** The first occurrence; never has values of a body. */
  readonly example: string
  /** Request id of the first occurrence. */
  readonly requestId: string
}

/** Returns the findings as one table: route, rule, what is wrong, what to write instead. */
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
