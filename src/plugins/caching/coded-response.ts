import type { FastifyReply } from 'fastify'
import { codedTag } from './coded-tags.js'

/**
 * Gives the entity tag of a reply its content coding, should a later hook apply one: a plugin that compresses knows
 * nothing of tags, and hooks that come after it cannot be had. For replies of apps that have such a plugin.
 */
export function tagWhatIsCoded(reply: FastifyReply): void {
  const { raw } = reply
  const writeHead = raw.writeHead.bind(raw) as (...parts: unknown[]) => unknown
  const tagged = (...parts: unknown[]): unknown => {
    const headers = parts.at(-1)
    if (isHeaders(headers)) {
      const etag = tagOf(headers.etag, headers['content-encoding'])
      if (etag !== null) headers.etag = etag
    } else {
      // Of a stream, headers are set one by one.
      const etag = tagOf(raw.getHeader('etag'), raw.getHeader('content-encoding'))
      if (etag !== null) raw.setHeader('etag', etag)
    }
    return writeHead(...parts)
  }
  raw.writeHead = tagged as typeof raw.writeHead
}

function isHeaders(part: unknown): part is Record<string, unknown> {
  return typeof part === 'object' && part !== null && !Array.isArray(part)
}

function tagOf(etag: unknown, coding: unknown): string | null {
  const isCoded = typeof etag === 'string' && typeof coding === 'string' && coding !== 'identity'
  return isCoded ? codedTag(etag, coding) : null
}
