/** The scope of tokens that see and change the records of all users; without it those of their own user. */
export const adminScope = 'admin'

const ofCollections = ['users', 'friends', 'orders', 'subscriptions', 'payments'].flatMap((name) => [
  [`${name}:read`, `Read ${name}`],
  [`${name}:write`, `Create, change and delete ${name}`],
])

/** What each scope of the service allows. */
export const scopes: Readonly<Record<string, string>> = {
  ...Object.fromEntries(ofCollections),
  [adminScope]: 'Do so with the records of all users',
}

/** The scopes that a user may give to an app. */
export const userScopes: readonly string[] = Object.keys(scopes).filter((scope) => scope !== adminScope)
