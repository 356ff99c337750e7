import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import { noQuery } from './schemas.js'

interface Terms {
  readonly text: string
  readonly modified: string
}

const english: Terms = {
  text: 'This is a demo. Nothing you order here arrives.',
  modified: '2026-01-05T09:00:00Z',
}

const terms: Readonly<Record<string, Terms>> = {
  en: english,
  de: {
    text: 'Dies ist eine Vorführung. Was Sie hier bestellen, kommt nicht an.',
    modified: '2026-01-07T09:00:00Z',
  },
  fr: {
    text: 'Ceci est une démonstration. Rien de ce que vous commandez ici n’arrive.',
    modified: '2026-01-08T09:00:00Z',
  },
}

export async function mountTerms(app: FastifyInstance): Promise<void> {
  app.get(
    '/v1/terms',
    {
      schema: {
        operationId: 'readTerms',
        summary: 'Read the terms of service',
        description: 'Returns the terms in the language of `Accept-Language`: English, German or French.',
        tags: ['terms'],
        querystring: noQuery,
        response: {
          200: {
            description: 'The terms, in the language of Content-Language',
            headers: { 'Content-Language': { type: 'string', description: 'Language of the terms' } },
            type: 'object',
            required: ['text'],
            additionalProperties: false,
            properties: { text: { type: 'string' } },
          },
        },
      },
      config: {
        bearer: false,
        fields: false,
        caching: {
          cacheControl: { public: true, maxAge: 3600 },
          vary: ['Accept-Language'],
        },
      },
    },
    async function readTerms(request, reply) {
      const language = new Negotiator(request.raw).language(Object.keys(terms)) ?? 'en'
      const { text, modified } = terms[language] ?? english
      return reply.header('content-language', language).caching({ lastModified: modified }).send({ text })
    },
  )
}
