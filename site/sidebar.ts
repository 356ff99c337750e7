/** The pages of the site, in the order in which they are read. */
export const sidebar: readonly { readonly title: string; readonly pages: readonly string[] }[] = [
  {
    title: 'Start',
    pages: ['README.md', 'docs/tutorial.md', 'examples/README.md', 'examples/demo-server/README.md'],
  },
  {
    title: 'Guides',
    pages: guides(
      'path-of-a-request',
      'recipes',
      'type-providers',
      'openapi',
      'testing',
      'dev-issuer',
      'commonjs-and-bundling',
      'platforms',
      'beside-other-plugins',
      'migration',
      'comparison',
      'performance',
    ),
  },
  {
    title: 'Conventions',
    pages: guides(
      'problems',
      'path-guard',
      'lists',
      'fields',
      'formats',
      'integer-twins',
      'response-rules',
      'caching',
      'idempotency',
      'operations',
      'client',
      'method-override',
      'versions',
      'self-alias',
      'cors',
      'security-headers',
      'https-only',
      'bearer',
      'xsrf',
      'rate-limit',
      'maintenance',
    ),
  },
  {
    title: 'Running a service',
    pages: guides('into-a-running-service', 'check', 'report', 'several-instances'),
  },
  {
    title: 'Reference',
    pages: [
      ...guides('server-options', 'convention', 'decorators', 'errors'),
      'bench/README.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
    ],
  },
]

function guides(...names: readonly string[]): string[] {
  return names.map((name) => `docs/${name}.md`)
}
