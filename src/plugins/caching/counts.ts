/** How often conditional requests were answered without the whole work, since the start. */
export interface CachingCounts {
  /** 304 from `validators`: neither the handler ran, nor was anything serialized. */
  notModifiedBeforeHandler: number
  /** 304 after the handler ran: what it made was not sent. */
  notModifiedAfterHandler: number
  /** 412: a precondition did not hold. */
  preconditionFailed: number
}
