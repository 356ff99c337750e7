import type { FastifySchema } from 'fastify'
import type { Collection } from './declaration.js'
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
      },
    },
    read: {
      ...about('read', singular),
      params: idParams,
      querystring: noQuery,
      response: {
        200: { description: `The ${singular}`, ...item },
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
      },
    },
    delete: {
      ...about('delete', singular),
      params: idParams,
      querystring: noQuery,
      response: {
        204: { description: `The ${singular} is gone`, type: 'null' },
      },
    },
  } as const satisfies Record<string, FastifySchema>
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
