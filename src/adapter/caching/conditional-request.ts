import type { FastifyRequest } from 'fastify'
import { uncodedTags } from '../../http/caching/coded-tags.js'
import {
  evaluatePreconditions,
  type PreconditionVerdict,
  type RequestFields,
  type Validators,
} from '../../http/caching/preconditions.js'

/** Does a request have one of the preconditions that an origin server evaluates (RFC 9110 §13.1.1–§13.1.4)? */
export function isConditional(fields: RequestFields): boolean {
  return (
    fields['if-none-match'] !== undefined || fields['if-modified-since'] !== undefined || isGuarded(fields)
  )
}

/** Does it have one that keeps a write from overwriting what the caller has not seen (RFC 6585 §3)? */
export function isGuarded(fields: RequestFields): boolean {
  return fields['if-match'] !== undefined || fields['if-unmodified-since'] !== undefined
}

/** What the preconditions of a request come to; a tag with a content coding stands for what was coded. */
export function verdictOn(request: FastifyRequest, validators: Validators, now: number): PreconditionVerdict {
  return evaluatePreconditions(request.method, preconditionsOf(request, validators.etag), validators, now)
}

function preconditionsOf({ headers, raw }: FastifyRequest, etag: string | undefined): RequestFields {
  const uncoded = (tags: string | undefined): string | undefined =>
    tags === undefined || etag === undefined ? tags : uncodedTags(tags, etag)
  // Of a date that comes twice `headers` has the first alone; it is to be ignored (RFC 9110 §13.1.3, §13.1.4).
  const dates = (
    name: 'if-modified-since' | 'if-unmodified-since',
  ): string | readonly string[] | undefined =>
    headers[name] === undefined ? undefined : (raw.headersDistinct?.[name] ?? headers[name])
  return {
    'if-match': uncoded(headers['if-match']),
    'if-none-match': uncoded(headers['if-none-match']),
    'if-modified-since': dates('if-modified-since'),
    'if-unmodified-since': dates('if-unmodified-since'),
  }
}
