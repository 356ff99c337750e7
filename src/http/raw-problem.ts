import { type ProblemDocument, problemMediaType } from './problem.js'
import { reasonPhrases } from './status.js'

/** A whole response in HTTP/1.1 bytes, for a connection on which no request could be read. Nobody may store it. */
export function rawProblem(document: ProblemDocument, date: Date): string {
  const body = JSON.stringify(document)
  return [
    `HTTP/1.1 ${document.status} ${reasonPhrases[document.status] ?? ''}`,
    `Date: ${date.toUTCString()}`,
    'Connection: close',
    'Cache-Control: no-store',
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${new TextEncoder().encode(body).length}`,
    '',
    body,
  ].join('\r\n')
}
