import type { Answer } from './answers.js'
import type { Samples } from './measure.js'
import type { MemoryReading } from './scenario.js'

/** What the runner asks a child; every question has one answer. */
export type Question =
  /** Serve the variant. Answered with the port. */
  | { readonly ask: 'listen' }
  /** Collect garbage while idle, as in a server that lives for long. Answered with the ns that a tick takes then. */
  | { readonly ask: 'settle' }
  /** How much CPU time has the process used so far? */
  | { readonly ask: 'cpu' }
  /** How much memory does the process need, after a garbage collection? */
  | { readonly ask: 'memory' }
  /** Boot the variant once. */
  | { readonly ask: 'boot' }
  /** Run the rounds of a micro scenario. */
  | { readonly ask: 'micro'; readonly rounds: number; readonly warmUps: number }

/** What a child answers, by question. */
export interface Replies {
  readonly listen: { readonly port: number }
  readonly settle: { readonly tick: number }
  /** In µs. */
  readonly cpu: { readonly user: number; readonly system: number }
  readonly memory: MemoryReading
  readonly boot: { readonly figure: number; readonly answers: readonly Answer[] }
  readonly micro: { readonly samples: Samples }
}
