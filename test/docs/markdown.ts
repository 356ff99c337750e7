/** A fenced block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** The answer that follows, with nothing but blank lines between; `…` in it stands for what is left out. */
  readonly shown: string | null
}

const fence = /^```(\w*)\n([\s\S]*?)^```$(?=(?:\s*^```(?:http|json)\n([\s\S]*?)^```$)?)/gm

export function blocksOf(markdown: string): Block[] {
  const found = [...markdown.matchAll(fence)]
  return found.map(([, language = '', text = '', shown = null]) => ({ language, text, shown }))
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
export function missingOf(shown: string, printed: string): string | null {
  const [head, body] = splitHead(shown)
  const [actualHead, actualBody] = splitHead(printed)
  const lines = new Set(actualHead.toLowerCase().split('\n'))
  const line = head.split('\n').find((one) => one !== '' && !lines.has(one.toLowerCase()))
  if (line !== undefined) return line
  const part = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`^${canonical(body).split('…').map(part).join('.*')}$`)
  return pattern.test(canonical(actualBody)) ? null : body
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
