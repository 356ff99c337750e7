import type { CachingRouteOptions, FieldsRouteOptions, RouteValidators } from 'fastify-conventions'
import type { TSchema } from 'typebox'
import { type RequestById, validatorsOf } from './items.js'
import {
  createdResponse,
  type Item,
  idParams,
  itemResponse,
  listResponse,
  noContent,
  noQuery,
} from './schemas.js'

/** A collection, for {@link routesOf}. */
interface Collection<Of extends Item, Filters, New, Whole, Patch> {
  readonly item: Of
  /** The query of the list. */
  readonly filters: Filters
  /** The bodies of POST, PUT and PATCH. */
  readonly bodies: { readonly made: New; readonly whole: Whole; readonly changed: Patch }
  /** Who sees which items, as a sentence. */
  readonly visibility: string
  /** The problems of all writes. */
  readonly codes: Readonly<Record<string, number>>
  /** Reads the version of the item that a request names. */
  readonly findVersion: (request: RequestById) => Promise<RouteValidators | null>
  readonly fields?: FieldsRouteOptions
  readonly caching?: {
    readonly list: CachingRouteOptions
    readonly item: CachingRouteOptions['cacheControl']
  }
}

/** Returns the options of the six routes that every collection has, and `action`, those of an action on an item. */
export function routesOf<
  Of extends Item,
  Filters extends TSchema,
  New extends TSchema,
  Whole extends TSchema,
  Patch extends TSchema,
>(collection: Collection<Of, Filters, New, Whole, Patch>) {
  const { item, filters, bodies, visibility, codes, findVersion, fields = {}, caching } = collection
  const one = item.$id
  const many = `${one}s`
  const a = `${/^[aeio]/.test(one) ? 'an' : 'a'} ${one}`
  const ofClientsVersion = 'With `If-Match`, only the version that the client has read.'
  const ofItem = { tags: [many], params: idParams, querystring: noQuery }
  const reading = { bearer: { scopes: [`${many}:read`] }, fields }
  const writing = {
    bearer: { scopes: [`${many}:write`] },
    problems: { codes },
    caching: { validators: findVersion, validatorsOf },
  }
  return {
    list: {
      schema: {
        ...named('list', many),
        description: `Returns one page, the newest first; the filters narrow it. ${visibility}`,
        tags: [many],
        querystring: filters,
        response: { 200: listResponse(many, item) },
      },
      config: {
        ...reading,
        lists: { member: many },
        formats: ['xml', 'csv'] as const,
        caching: caching?.list ?? {},
      },
    },
    create: {
      schema: {
        ...named('create', one),
        description: `Creates ${a}. An \`Idempotency-Key\` makes a repeated request safe.`,
        tags: [many],
        querystring: noQuery,
        body: bodies.made,
        response: { 201: createdResponse(item) },
      },
      config: { ...writing, caching: { validatorsOf } },
    },
    read: {
      schema: {
        ...named('read', one),
        description: `Returns one ${one}; \`fields\` selects its members. ${visibility}`,
        ...ofItem,
        response: { 200: itemResponse(item) },
      },
      config: {
        ...reading,
        formats: ['xml'] as const,
        caching: {
          cacheControl: caching?.item ?? { private: true, noCache: true },
          validators: findVersion,
        },
      },
    },
    replace: {
      schema: {
        ...named('replace', one),
        description: `Writes all members of ${a}. ${ofClientsVersion}`,
        ...ofItem,
        body: bodies.whole,
        response: { 200: itemResponse(item), 201: createdResponse(item) },
      },
      config: { ...writing, problems: { codes: { ...codes, 'id-not-given-out': 422 } } },
    },
    update: {
      schema: {
        ...named('update', one),
        description: `Writes the members in the body, a merge patch (RFC 7396), and no others. ${ofClientsVersion}`,
        ...ofItem,
        consumes: ['application/merge-patch+json', 'application/json'],
        body: bodies.changed,
        response: { 200: itemResponse(item) },
      },
      config: writing,
    },
    remove: {
      schema: {
        ...named('delete', one),
        description: `Deletes ${a}. ${ofClientsVersion}`,
        ...ofItem,
        response: { 204: noContent },
      },
      config: { ...writing, problems: { codes: { 'still-referenced': 409 } } },
    },
    action: { schema: ofItem, config: writing },
  }
}

function named(verb: string, what: string) {
  return {
    operationId: `${verb}${capitalized(what)}`,
    summary: `${capitalized(verb)} ${what}`,
  }
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}
