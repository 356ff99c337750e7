/** A fenced block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** The block that follows with nothing but blank lines between, if it shows an answer. */
  readonly shown: Shown | null
}

/** An answer as a page shows it; `…` stands for what is left out. */
export interface Shown {
  readonly language: 'http' | 'json'
  readonly text: string
}

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm

/** The fenced blocks of a page. */
export function blocksOf(markdown: string): Block[] {
  const found = [...markdown.matchAll(fence)].map((match) => ({
    language: match[1] ?? '',
    text: match[2] ?? '',
    start: match.index,
    end: match.index + match[0].length,
  }))
  return found.map(({ language, text, end }, index) => {
    const next = found[index + 1]
    const isNext = next !== undefined && markdown.slice(end, next.start).trim() === ''
    const shown = isNext ? shownBy(next.language, next.text) : null
    return { language, text, shown }
  })
}

/** The curl commands of a shell block, one line each. */
export function curlLinesOf({ text }: Block): string[] {
  const lines = text.replace(/\\\n\s*/g, '').split('\n')
  return lines.map((line) => line.trim()).filter((line) => /^[^#]*\bcurl\s/.test(line))
}

/** The status that the comment behind a command promises, as in `# 404, and why`; `null` where it promises none. */
export function promisedStatus(line: string): number | null {
  const status = /\s#\s+([1-5]\d\d)\b[^#]*$/.exec(line)?.[1]
  return status === undefined ? null : Number(status)
}

/** Says what of a shown answer is not in what curl printed; `null` where all of it is. */
export function missingOf({ language, text }: Shown, printed: string): string | null {
  const [head, body] = language === 'http' ? splitHead(text) : ['', text]
  const [actualHead, actualBody] = splitHead(printed)
  const lines = new Set(actualHead.split('\n').map((line) => line.toLowerCase()))
  const line = head.split('\n').find((one) => one !== '' && !lines.has(one.toLowerCase()))
  if (line !== undefined) return line
  let rest = canonical(actualBody)
  for (const [index, part] of canonical(body).split('…').entries()) {
    const at = rest.indexOf(part)
    if (at === -1 || (index === 0 && at > 0)) return part
    rest = rest.slice(at + part.length)
  }
  return rest === '' || body.trimEnd().endsWith('…') ? null : rest
}

function shownBy(language: string, text: string): Shown | null {
  return language === 'http' || language === 'json' ? { language, text } : null
}

// Of `curl -i` or of a page. What begins with no status line is all body.
function splitHead(text: string): [head: string, body: string] {
  const lines = text.replaceAll('\r\n', '\n')
  if (!lines.startsWith('HTTP/')) return ['', lines]
  const end = `${lines}\n\n`.indexOf('\n\n')
  return [lines.slice(0, end), lines.slice(end + 2)]
}

// A page breaks long bodies into lines, and cannot know the id of a request.
function canonical(body: string): string {
  return body
    .trim()
    .replace(/\n\s*/g, '')
    .replace(/urn:request:[\w-]+/g, 'urn:request:id')
}
