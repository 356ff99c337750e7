import type { FastifyRequest } from 'fastify'
import {
  evaluatePreconditions,
  type PreconditionVerdict,
  type RequestFields,
  type Validators,
} from '../../http/preconditions.js'
import { acceptsCoding, tagAsNamed, uncodedTags } from './coded-tags.js'

/** Does a request have one of the preconditions that an origin server evaluates (RFC 9110 §13.1.1–§13.1.4)? */
export function isConditional(fields: RequestFields): boolean {
  return namesTags(fields) || fields['if-modified-since'] !== undefined || isGuarded(fields)
}

/** Does it have one that names entity tags? */
export function namesTags(fields: RequestFields): boolean {
  return fields['if-none-match'] !== undefined || fields['if-match'] !== undefined
}

/** Does it have one that keeps a write from overwriting what the caller has not seen (RFC 6585 §3)? */
export function isGuarded(fields: RequestFields): boolean {
  return fields['if-match'] !== undefined || fields['if-unmodified-since'] !== undefined
}

/** What the preconditions of a request come to; a tag with a content coding stands for what was coded. */
export function verdictOn(request: FastifyRequest, validators: Validators, now: number): PreconditionVerdict {
  return evaluatePreconditions(request.method, preconditionsOf(request, validators.etag), validators, now)
}

/** The entity tag of a 304: the one by which the caller has it (RFC 9110 §15.4.5), with a content coding or without. */
export function tagForCaller({ headers }: FastifyRequest, etag: string): string {
  return tagAsNamed(etag, headers['if-none-match'] ?? '', takenBy(headers))
}

function preconditionsOf(request: FastifyRequest, etag: string | undefined): RequestFields {
  const { headers, raw } = request
  // Of a date that comes twice `headers` has the first alone; it is to be ignored (RFC 9110 §13.1.3, §13.1.4).
  const dates = (
    name: 'if-modified-since' | 'if-unmodified-since',
  ): string | readonly string[] | undefined =>
    headers[name] === undefined ? undefined : (raw.headersDistinct?.[name] ?? headers[name])
  return {
    'if-match': uncoded(headers['if-match'], etag),
    'if-none-match': uncoded(headers['if-none-match'], etag, takenBy(headers)),
    'if-modified-since': dates('if-modified-since'),
    'if-unmodified-since': dates('if-unmodified-since'),
  }
}

function uncoded(
  tags: string | undefined,
  etag: string | undefined,
  isTaken?: (coding: string) => boolean,
): string | undefined {
  return tags === undefined || etag === undefined ? tags : uncodedTags(tags, etag, isTaken)
}

// A cache asks with the tags of all that it stored (RFC 9111 §4.3.1), also of codings that this caller does not take.
function takenBy(headers: FastifyRequest['headers']): (coding: string) => boolean {
  // Node.js joins repeated lines, though its types allow for a list.
  return (coding) => acceptsCoding(headers['accept-encoding']?.toString(), coding)
}
