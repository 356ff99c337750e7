import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import { problemResponses } from './problem-responses.js'
import { noQuery } from './schemas.js'

const texts: Readonly<Record<string, string>> = {
  en: 'This is a demo. Nothing you order here arrives.',
  de: 'Dies ist eine Vorführung. Was Sie hier bestellen, kommt nicht an.',
  fr: 'Ceci est une démonstration. Rien de ce que vous commandez ici n’arrive.',
}

/** Mounts the terms of service, in the language that the client asks for. */
export async function mountTerms(app: FastifyInstance): Promise<void> {
  app.get(
    '/v1/terms',
    {
      schema: {
        operationId: 'readTerms',
        summary: 'Read the terms of service',
        tags: ['terms'],
        querystring: noQuery,
        response: {
          200: {
            description: 'The terms, in the language of Content-Language',
            type: 'object',
            required: ['text'],
            additionalProperties: false,
            properties: { text: { type: 'string' } },
          },
          ...problemResponses(400, 406, 412),
        },
      },
      config: {
        fields: false,
        caching: {
          cacheControl: { public: true, maxAge: 3600 },
          vary: ['Accept-Language'],
          lastModified: false,
        },
      },
    },
    async function readTerms(request, reply) {
      const known = Object.keys(texts)
      const language = new Negotiator(request.raw).language(known) ?? 'en'
      return reply.header('content-language', language).send({ text: texts[language] })
    },
  )
}
