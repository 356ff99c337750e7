import { collections } from './collections/index.js'

/** The scope of tokens that see and change the records of all users; without it those of their own user. */
export const adminScope = 'admin'

/** What a token has to allow for the routes of a collection: `orders:read`, `orders:write`. */
export function scopeOf(collection: { readonly name: string }, access: 'read' | 'write'): string {
  return `${collection.name}:${access}`
}

/** What each scope of the service allows. */
export const scopes: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    collections.flatMap((collection) => [
      [scopeOf(collection, 'read'), `Read ${collection.name}`],
      [scopeOf(collection, 'write'), `Create, change and delete ${collection.name}`],
    ]),
  ),
  [adminScope]: 'Do so with the records of all users',
}

/** The scopes that a user may give to an app. */
export const userScopes: readonly string[] = Object.keys(scopes).filter((scope) => scope !== adminScope)
