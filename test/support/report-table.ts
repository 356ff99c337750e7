/**
 * Returns an error or a report whose tables have a line for each cause again, however wide: cells that go on in the next
 * line are one, and a cell that is that of the line above is there.
 */
export function unwrapped(text: string): string {
  let columns: readonly number[] = []
  let last: string[] = []
  const lines: string[] = []
  const show = (): void => {
    if (last.length > 0) lines.push(last.join('  '))
    last = []
  }
  for (const line of text.split('\n')) {
    if (line === '') {
      show()
      columns = []
    }
    if (/^-+(?: {2}-+)*$/.test(line)) columns = [...line.matchAll(/-+/g)].map(({ index }) => index)
    if (columns.length === 0 || line.startsWith('--')) {
      lines.push(line)
      continue
    }
    const cells = columns.map((start, column) => line.slice(start, columns[column + 1]).trimEnd())
    const goesOn = cells.every((cell) => cell === '' || cell.startsWith('  '))
    const above = last
    if (goesOn) last = above.map((cell, column) => `${cell} ${cells[column]?.trim()}`.trimEnd())
    else {
      show()
      last = cells.map((cell, column) => (cell === '' ? (above[column] ?? '') : cell))
    }
  }
  show()
  return lines.join('\n')
}

/** Rejects with an error of the boot whose tables are {@link unwrapped}. */
export function rethrowUnwrapped(error: Error): never {
  error.message = unwrapped(error.message)
  throw error
}
