/**
 * What `enforce` does about a finding or an observation: it stops the boot, refuses the request, changes the request or the
 * response, adds a header field to the response; or nothing, because the convention cannot hold there.
 */
export type Effect = 'boot stopped' | 'refused' | 'changed' | 'header added' | 'none'

/** A route that breaks a rule, found while the app boots. */
export interface Finding {
  /** Plugin that owns the rule. */
  readonly plugin: string
  readonly rule: string
  /** Method and path pattern, as in {@link Observation}. */
  readonly route: string
  /** What is wrong. */
  readonly problem: string
  /** What to write instead. */
  readonly instead: string
  /** `enforce` stops the boot, `report` only logs. */
  readonly mode: 'enforce' | 'report'
  /** What `enforce` does about it. With `none`, it is logged in each mode, and the boot goes on. */
  readonly effect: Extract<Effect, 'boot stopped' | 'none'>
}

/** Rules that do not apply to a route, by a declared exception or because no rule applies to the route. */
export interface Exception {
  readonly plugin: string
  /** Method and path pattern. */
  readonly route: string
  /** The rules that do not apply; all rules of the plugin if the route is excluded. */
  readonly rules: readonly string[]
  readonly reason: string
  /** Whether an option of the app or of the route says so; `false` where no rule applies for what the route is. */
  readonly declared: boolean
}

/** How often requests broke a rule in `report` mode, per rule, route and effect. */
export interface Observation {
  readonly plugin: string
  readonly rule: string
  /** Method and path pattern, as in {@link Finding}, or `*` for paths that no route serves. */
  readonly route: string
  /** What `enforce` does about it. */
  readonly effect: Exclude<Effect, 'boot stopped'>
  /** The status of the refusal. Absent for other effects. */
  readonly status?: number
  readonly count: number
  /** The first occurrence; never has values of a body. */
  readonly example: string
  /** Request id of the first occurrence. */
  readonly requestId: string
}

/** What `enforce` does about a request: the status of a refusal, or another effect. */
export type Observed = number | Exclude<Observation['effect'], 'refused'>

/** What the conventions found at boot, and by requests in `report` mode. */
export interface ConventionsReport {
  /** The routes of the contexts with conventions, by method and path pattern; none before the app is ready. */
  readonly routes: readonly string[]
  /** Routes that break a rule in `report` mode. (In `enforce` mode the app does not boot.) */
  readonly findings: readonly Finding[]
  /** Declared exceptions, and routes that no rule applies to. */
  readonly exceptions: readonly Exception[]
  /** What would have been refused, changed or added, per rule and route. */
  readonly observations: readonly Observation[]
}
