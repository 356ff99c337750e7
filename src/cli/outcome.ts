import type { ConventionsReport } from '../index.js'
import type { DocumentState } from './document.js'

/** What the process of an app is asked to do. */
export interface ProcessRequest {
  /** Absolute path of the file of the app. */
  readonly file: string
  readonly mode: 'report' | 'enforce'
  /** Whether the preset is registered before everything else. */
  readonly preset: boolean
}

/** How an app has booted. */
export type Outcome =
  | { readonly kind: 'booted'; readonly report: ConventionsReport; readonly document: DocumentState }
  /** The app registers conventions itself. */
  | { readonly kind: 'registered' }
  | { readonly kind: 'failed'; readonly message: string }
