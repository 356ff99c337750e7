import type { ConventionsReport } from '../index.js'
import type { DocumentState } from './document.js'

export interface ProcessRequest {
  readonly file: string
  readonly mode: 'report' | 'enforce'
  /** Whether the preset is registered before everything else. */
  readonly preset: boolean
}

export type Outcome =
  | { readonly kind: 'booted'; readonly report: ConventionsReport; readonly document: DocumentState }
  /** The app registers conventions itself. */
  | { readonly kind: 'registered' }
  | { readonly kind: 'failed'; readonly message: string }
