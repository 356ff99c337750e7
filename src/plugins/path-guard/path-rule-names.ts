/** The rules that a route's path is held against. */
export const pathRuleNames = [
  'uppercase',
  'underscore',
  'encoding',
  'plural',
  'words',
  'version',
  'action',
  'slash',
] as const

/** Name of a path rule. */
export type PathRule = (typeof pathRuleNames)[number]
