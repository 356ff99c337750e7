import type { FastifySchema } from 'fastify'
import type { Collection } from './declaration.js'
import { problemResponses } from './problem-responses.js'
import {
  bodySchema,
  filterQuery,
  idParams,
  listSchema,
  noQuery,
  patchSchema,
  replaceSchema,
} from './schemas.js'

/** What goes into the six routes of a collection and what comes out; validation, answers and OpenAPI share it. */
export function routeSchemas(collection: Collection) {
  const { name, singular } = collection
  const item = { $ref: `${singular}#` }
  const about = (verb: string, what: string) => ({
    operationId: verb + capitalized(what),
    summary: `${capitalized(verb)} ${what}`,
    tags: [name],
  })
  return {
    list: {
      ...about('list', name),
      querystring: filterQuery(collection),
      response: {
        200: { description: `One page of the ${name}`, ...listSchema(collection) },
        ...problemResponses(400, 406, 412),
      },
    },
    create: {
      ...about('create', singular),
      querystring: noQuery,
      body: bodySchema(collection),
      response: {
        201: {
          description: `The new ${singular}`,
          headers: { Location: { type: 'string', description: `Where the ${singular} is` } },
          ...item,
        },
        ...problemResponses(400, 406, 409, 413, 415, 422),
      },
    },
    read: {
      ...about('read', singular),
      params: idParams,
      querystring: noQuery,
      response: {
        200: { description: `The ${singular}`, ...item },
        ...problemResponses(400, 404, 406, 412),
      },
    },
    replace: {
      ...about('replace', singular),
      params: idParams,
      querystring: noQuery,
      body: replaceSchema(collection),
      response: {
        200: { description: `The ${singular} as it is now`, ...item },
        201: {
          description: `The new ${singular}, made with If-None-Match: *`,
          headers: { Location: { type: 'string', description: `Where the ${singular} is` } },
          ...item,
        },
        ...problemResponses(400, 404, 406, 409, 412, 413, 415, 422),
      },
    },
    update: {
      ...about('update', singular),
      consumes: ['application/merge-patch+json', 'application/json'],
      params: idParams,
      querystring: noQuery,
      body: patchSchema(collection),
      response: {
        200: { description: `The ${singular} as it is now`, ...item },
        ...problemResponses(400, 404, 406, 409, 412, 413, 415, 422),
      },
    },
    delete: {
      ...about('delete', singular),
      params: idParams,
      querystring: noQuery,
      response: {
        204: { description: `The ${singular} is gone`, type: 'null' },
        ...problemResponses(400, 404, 409, 412),
      },
    },
  } as const satisfies Record<string, FastifySchema>
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
