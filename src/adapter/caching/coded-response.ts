import type { FastifyReply } from 'fastify'
import { codedTag } from '../../http/caching/coded-tags.js'

/**
 * Gives the entity tag of a reply its content coding, should a later hook apply one: a plugin that compresses knows
 * nothing of tags, and hooks that come after it cannot be had. For replies of apps that have such a plugin.
 */
export function tagWhatIsCoded(reply: FastifyReply): void {
  const { raw } = reply
  const writeHead = raw.writeHead.bind(raw) as (status: number, headers: Headers) => unknown
  const tagged = (status: number, headers: Headers): unknown => {
    const { etag, 'content-encoding': coding } = headers
    if (typeof etag === 'string' && typeof coding === 'string' && coding !== 'identity') {
      headers.etag = codedTag(etag, coding)
    }
    return writeHead(status, headers)
  }
  raw.writeHead = tagged as typeof raw.writeHead
}

type Headers = Record<string, unknown>
