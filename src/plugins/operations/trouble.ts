/** Takes note of what goes wrong, without a line for each time. */
export interface Trouble {
  failed(what: string, error: unknown): void
  recovered(): void
}
