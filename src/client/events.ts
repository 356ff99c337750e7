import { inTime, type WaitOptions } from './polling.js'

/** Maximum length of a status document in a stream, in UTF-16 code units. A longer one ends the stream. */
const maxLength = 1_048_576

/** Requests server-sent events (WHATWG HTML §9.2), and yields the data of those named `status`, or the body if it is no stream. */
export async function* dataOfEvents(
  { fetch: call = fetch, init, signal, timeout }: WaitOptions,
  url: string,
  onResponse: (response: Response) => void,
): AsyncGenerator<string, void> {
  const request = new AbortController()
  const abort = (): void => request.abort(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    signal?.throwIfAborted()
    const headers = new Headers(init?.headers)
    headers.set('accept', 'text/event-stream, application/json;q=0.9')
    const settings = { ...init, headers, redirect: 'manual', signal: request.signal } as const
    const response = await inTime(request, timeout, () => call(url, settings))
    onResponse(response)
    if (!response.ok) return
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      yield await inTime(request, timeout, () => response.text())
      return
    }
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let [line, event, data] = ['', '', '']
    let endsInReturn = false
    for (;;) {
      // A comment is enough: it shows that the service is there.
      const { done, value } = await inTime(request, timeout, () => reader.read())
      if (done) return
      const text = decoder.decode(value, { stream: true })
      // The line feed of a line end that two chunks share.
      const [first, ...others] = (endsInReturn ? text.replace(/^\n/, '') : text).split(/\r\n?|\n/)
      endsInReturn = text.endsWith('\r')
      line += first
      for (const next of others) {
        const [, field, content = ''] = /^(event|data): ?(.*)/s.exec(line) ?? []
        if (field === 'event') event = content
        if (field === 'data') data += `${content}\n`
        if (!line) {
          if (event === 'status' && data) yield data
          event = data = ''
        }
        line = next
      }
      if (line.length + data.length > maxLength) return
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    request.abort()
  }
}
