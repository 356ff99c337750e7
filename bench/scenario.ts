import type { FastifyInstance } from 'fastify'

/** One request to a server, and what a right answer to it is. */
export interface BenchRequest {
  /** @default 'GET' */
  readonly method?: string
  /** Request target: path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The status that a right answer has. @default 200 */
  readonly status?: number
  /** The very body that a right answer has. Default: any. */
  readonly answer?: string
}

/** What a variant's figure may be. Shown in the report; no run fails because of it. */
export interface Bound<Name extends string = string> {
  /** The highest ratio. */
  readonly max: number
  /** The variant that the ratio is to. Default: the baseline. */
  readonly to?: Name
}

/** What all kinds of scenario declare. */
interface Comparison<Name extends string> {
  /** What is measured, in one line. */
  readonly title: string
  /** The variant that the others are set against. */
  readonly baseline: NoInfer<Name>
  readonly bounds?: {
    readonly [Variant in NoInfer<Name>]?: Bound<NoInfer<Name>> | readonly Bound<NoInfer<Name>>[]
  }
  /** What the cost counts. Default: that of the kind, such as `CPU ms per boot`. */
  readonly unit?: string
  /** Rounds that count, unless the command line says otherwise. */
  readonly rounds?: number
}

/** A server under load, for its CPU time per request. */
export interface LoadScenario<Name extends string = string> extends Comparison<Name> {
  readonly kind: 'load'
  /** Why it cannot be measured on this machine; it is left out then, and says so. */
  readonly obstacle?: string | null
  /** Sent in turn, over and over. */
  readonly requests: readonly BenchRequest[]
  /** Requests per variant and round, unless the command line says otherwise. */
  readonly requestsPerRound?: number
  /**
   * `time`: the inverse of the rate at which requests are answered, for what is done by another server in the main. It
   * is noisier.
   * @default 'cpu': CPU time of the server's process
   */
  readonly clock?: 'cpu' | 'time'
  /** Must every variant answer with the very body of the baseline? */
  readonly sameBody: boolean
  readonly variants: Readonly<Record<Name, LoadVariant>>
}

/** One server of a {@link LoadScenario}. */
export interface LoadVariant {
  /** What runs, in a few words. */
  readonly about: string
  readonly build: () => FastifyInstance | Promise<FastifyInstance>
  /** In place of the scenario's own. */
  readonly requests?: readonly BenchRequest[]
  /** In place of the scenario's own. */
  readonly sameBody?: boolean
}

/** An app until it is ready, in a process of its own each time. */
export interface BootScenario<Name extends string = string> extends Comparison<Name> {
  readonly kind: 'boot'
  readonly routes: number
  /**
   * `document`: the CPU time of the first `app.swagger()`. `heap`: what the heap has grown by when the app is ready.
   * @default 'boot': the CPU time until the app is ready
   */
  readonly measures?: 'boot' | 'document' | 'heap'
  /** Answered by each app after it was measured. */
  readonly requests: readonly BenchRequest[]
  readonly sameBody: boolean
  readonly variants: Readonly<Record<Name, BootVariant>>
}

/** One app of a {@link BootScenario}. */
export interface BootVariant {
  /** What runs, in a few words. */
  readonly about: string
  /** Makes the app; the frame makes it ready. */
  readonly build: (routes: number) => FastifyInstance | Promise<FastifyInstance>
}

/** Pure functions in one process, for the CPU time of one call. */
export interface MicroScenario<Name extends string = string> extends Comparison<Name> {
  readonly kind: 'micro'
  /** Calls per variant and round: enough for some ten milliseconds. */
  readonly callsPerRound: number
  /** Must every variant return what the baseline returns? */
  readonly sameResult: boolean
  readonly variants: Readonly<Record<Name, MicroVariant>>
}

/** One function of a {@link MicroScenario}. */
export interface MicroVariant {
  /** What runs, in a few words. */
  readonly about: string
  /** Must return something that depends on its work, or the compiler may leave the work out. */
  readonly run: () => unknown
}

/** Modules that are loaded, in a process of their own each time, for the CPU time until they are. */
export interface ImportScenario<Name extends string = string> extends Comparison<Name> {
  readonly kind: 'import'
  readonly variants: Readonly<Record<Name, ImportVariant>>
}

/** What one process of an {@link ImportScenario} loads. */
export interface ImportVariant {
  /** What is loaded, in a few words. */
  readonly about: string
  readonly modules: readonly string[]
  /** By `require()`? Default: by `import()`. */
  readonly isCommonJs?: boolean
}

/** One server that answers different requests for long, for its memory after some of them. */
export interface MemoryScenario<Name extends string = string> extends Comparison<Name> {
  readonly kind: 'memory'
  readonly build: () => FastifyInstance | Promise<FastifyInstance>
  /** The request of that number, from 0 on. */
  readonly request: (index: number) => BenchRequest
  readonly variants: Readonly<Record<Name, MemoryVariant>>
}

/** One reading of the memory of a server. */
export interface MemoryVariant {
  /** What is read, in a few words. */
  readonly about: string
  readonly after: number
  /** `heap`: what is alive after a garbage collection, in buffers too; `rss`: what the process has of the machine. */
  readonly of: keyof MemoryReading
}

/** The memory of a process after a garbage collection, in bytes. */
export interface MemoryReading {
  readonly heap: number
  readonly rss: number
}

/** Long texts in every place of a request, for how the CPU time of a server grows with their length. */
export interface GrowthScenario {
  readonly kind: 'growth'
  /** What is measured, in one line. */
  readonly title: string
  /** Lengths of the text in characters, each twice the one before. */
  readonly lengths: readonly number[]
  /** The growth per doubling above which a row is marked. */
  readonly maxPerDoubling: number
}

/** A scenario that compares variants. */
export type Scenario = LoadScenario | BootScenario | MicroScenario | ImportScenario | MemoryScenario

/** Declares a scenario of servers under load. */
export function loadScenario<Name extends string>(
  scenario: Omit<LoadScenario<Name>, 'kind'>,
): LoadScenario<Name> {
  return { kind: 'load', ...scenario }
}

/** Declares a scenario of apps that boot. */
export function bootScenario<Name extends string>(
  scenario: Omit<BootScenario<Name>, 'kind'>,
): BootScenario<Name> {
  return { kind: 'boot', ...scenario }
}

/** Declares a scenario of pure functions. */
export function microScenario<Name extends string>(
  scenario: Omit<MicroScenario<Name>, 'kind'>,
): MicroScenario<Name> {
  return { kind: 'micro', ...scenario }
}

/** Declares a scenario of modules that are loaded. */
export function importScenario<Name extends string>(
  scenario: Omit<ImportScenario<Name>, 'kind'>,
): ImportScenario<Name> {
  return { kind: 'import', ...scenario }
}

/** Declares a scenario of the memory of a server. */
export function memoryScenario<Name extends string>(
  scenario: Omit<MemoryScenario<Name>, 'kind'>,
): MemoryScenario<Name> {
  return { kind: 'memory', ...scenario }
}

/** Declares a measurement of growth. */
export function growthScenario(scenario: Omit<GrowthScenario, 'kind'>): GrowthScenario {
  return { kind: 'growth', ...scenario }
}

/** What a load variant is asked: its own requests, else those of the scenario. */
export function requestsOf(scenario: LoadScenario, variant: string): readonly BenchRequest[] {
  return scenario.variants[variant]?.requests ?? scenario.requests
}
