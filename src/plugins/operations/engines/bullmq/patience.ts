/** Milliseconds that a queue has for an answer. */
export const patience = 5_000
