import { reasonPhrases } from '../http/status.js'
import { type ProblemDocument, problemMediaType } from './problem-document.js'

/** Returns a whole response of HTTP/1.1 with `no-store`, for a connection on which no request could be read. */
export function rawProblem(
  document: ProblemDocument,
  date: Date,
  fields: Readonly<Record<string, string>> = {},
): string {
  const body = JSON.stringify(document)
  return [
    `HTTP/1.1 ${document.status} ${reasonPhrases[document.status] ?? ''}`,
    `Date: ${date.toUTCString()}`,
    'Connection: close',
    'Cache-Control: no-store',
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${new TextEncoder().encode(body).length}`,
    '',
    body,
  ].join('\r\n')
}
