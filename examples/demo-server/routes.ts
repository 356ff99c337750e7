import type { CachingRouteOptions, FieldsRouteOptions, RouteValidators } from 'fastify-conventions'
import { type TObject, type TProperties, Type } from 'typebox'
import { type RequestById, type Values, validatorsOf } from './items.js'
import {
  closed,
  createdResponse,
  type Item,
  idParams,
  itemResponse,
  listResponse,
  noContent,
  noQuery,
  readOnly,
  readOnlyMembers,
  withDefault,
} from './schemas.js'

export interface Described {
  readonly item: Item
  readonly fields: TProperties
  /** Of members that a new item may leave out. */
  readonly defaults?: Values
  /** The members that the service writes, beside those of all items. */
  readonly ofService?: TProperties
  /** The members that a list can be narrowed by. */
  readonly filters: readonly string[]
  /** Who sees which items, as a sentence. */
  readonly visibility: string
  readonly codes: Readonly<Record<string, number>>
  readonly selection?: FieldsRouteOptions
  readonly caching?: {
    readonly list: CachingRouteOptions
    readonly item: NonNullable<CachingRouteOptions['cacheControl']>
  }
}

/** Returns the options of the six routes that every collection has, and `action`, those of an action on an item. */
export function routesOf(
  {
    item,
    fields,
    defaults = {},
    ofService = {},
    filters,
    visibility,
    codes,
    selection = {},
    caching,
  }: Described,
  findVersion: (request: RequestById) => Promise<RouteValidators | null>,
) {
  const made = {
    ...fields,
    ...mapped(defaults, (value, name) => withDefault(fields[name] as Item, value as never)),
  }
  const repeated = { ...readOnlyMembers, ...mapped(ofService, readOnly) }
  const one = item.$id
  const many = `${one}s`
  const a = withArticle(one)
  const ofClientsVersion = 'With `If-Match`, only the version that the client has read.'
  const ofItem = { tags: [many], params: idParams, querystring: noQuery }
  const reading = { bearer: { scopes: [`${many}:read`] }, fields: selection }
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
        querystring: Type.Partial(Type.Pick(item as object as TObject, [...filters]), closed),
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
        body: Type.Object(made, closed),
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
        body: Type.Object({ ...made, ...repeated }, closed),
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
        body: Type.Partial(Type.Object({ ...fields, ...repeated }), closed),
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

export function withArticle(word: string): string {
  return `${/^[aeio]/.test(word) ? 'an' : 'a'} ${word}`
}

function mapped<From, To>(from: Readonly<Record<string, From>>, to: (value: From, name: string) => To) {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, to(value, name)]))
}

function named(verb: string, what: string) {
  const capitalized = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`
  return { operationId: `${verb}${capitalized(what)}`, summary: `${capitalized(verb)} ${what}` }
}
