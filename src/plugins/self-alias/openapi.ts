import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { DocumentOperation, Parameter } from '../../schema/openapi.js'

export function describeSelfAlias(aliases: readonly string[], isRepresented: boolean): RouteDescription {
  const location = isRepresented ? { 'Content-Location': { type: 'string', description: ownUrl } } : {}
  return {
    headers: location,
    problems: problemsOf({ unauthorized: `${aliases.join(' or ')}, and the caller is not known` }),
    headersOf: {
      304: location,
      401: { 'WWW-Authenticate': { type: 'string', description: 'What a request needs' } },
    },
  }
}

/** Adds the aliases to the parameter of the id. */
export function documentAliases(name: string, aliases: readonly string[]): DocumentOperation {
  const sentence = `${aliases.join(' or ')}: the caller's own`
  const withAliases = (parameter: Parameter): Parameter => {
    const { description, schema } = parameter
    if (parameter.in !== 'path' || parameter.name !== name || schema === undefined) return parameter
    return {
      ...parameter,
      description: description === undefined ? sentence : `${description} (${sentence})`,
      schema: { anyOf: [schema, { type: 'string', enum: [...aliases] }] },
    }
  }
  return (operation) => ({ ...operation, parameters: (operation.parameters ?? []).map(withAliases) })
}

const ownUrl = 'The URL of the record under its own id (RFC 9110 §8.7)'
