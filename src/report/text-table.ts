/** A row of a table: a line per cause, each with a cell per column. */
export type TableRow = readonly (readonly string[])[]

const maxWidth = 100
const gap = '  '
const indent = '  '

/** Returns a table as text, at most 100 characters wide: columns under each other, and a line below the header. */
export function textTable(header: readonly string[], rows: readonly TableRow[]): string {
  const lines = rows.flatMap(withoutRepeats)
  const widths = widthsOf([header, ...lines])
  const joined = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd()
  const wrapped = (cells: readonly string[]): string[] => {
    const parts = cells.map((cell, column) => wrap(cell, widths[column] ?? 0))
    const height = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, index) => joined(parts.map((part) => part[index] ?? '')))
  }
  const rule = joined(widths.map((width) => '-'.repeat(width)))
  return [...wrapped(header), rule, ...lines.flatMap(wrapped)].join('\n')
}

/** Returns the lines of a row, with nothing where a cell is that of the line above. */
export function withoutRepeats(row: TableRow): string[][] {
  return row.map((cells, line) => cells.map((cell, column) => (cell === row[line - 1]?.[column] ? '' : cell)))
}

/** Returns a text in lines of a width, broken at spaces, and within words that are too long. */
function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    const isFirst = line.trim() === ''
    const longer = isFirst ? line + word : `${line} ${word}`
    if (longer.length <= width) {
      lines[lines.length - 1] = longer
      continue
    }
    let rest = isFirst ? longer : indent + word
    if (isFirst) lines.pop()
    while (rest.length > width) {
      lines.push(rest.slice(0, width))
      rest = indent + rest.slice(width)
    }
    lines.push(rest)
  }
  return lines
}

/** Returns the width of each column: the widest are narrowed until all fit, down to their longest words if possible. */
function widthsOf([header = [], ...lines]: readonly (readonly string[])[]): number[] {
  const columns = header.map((title, column) => [title, ...lines.map((cells) => cells[column] ?? '')])
  const widths = columns.map((cells) => Math.max(...cells.map(({ length }) => length)))
  const words = columns.map((cells) => Math.max(...cells.map(longestWord)))
  let excess = widths.reduce((sum, width) => sum + width, (header.length - 1) * gap.length) - maxWidth
  for (; excess > 0; excess--) {
    const slack = widths.map((width, column) => (width > (words[column] ?? 0) ? width : 0))
    const of = slack.some((width) => width > 0) ? slack : widths
    const widest = of.indexOf(Math.max(...of))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

/** Returns how wide a column is whose cells break at spaces only. */
function longestWord(text: string): number {
  const [first = '', ...others] = text.split(' ')
  return Math.max(first.length, ...others.map(({ length }) => length + indent.length))
}
