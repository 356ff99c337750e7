import { readFileSync } from 'node:fs'
import type { Options } from 'tsup'
import ts from 'typescript'

type BuildPlugin = NonNullable<Options['plugins']>[number]
type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number]

/** Makes each subpath of a convention a file that exports from the root what the convention exports. */
export const subpathsOfRoot: EsbuildPlugin = {
  name: 'subpaths-of-root',
  setup(build) {
    const root = `./index${build.initialOptions.outExtension?.['.js'] ?? '.js'}`
    const namespace = 'subpath'
    build.onResolve({ filter: /(^|\/)src\/(plugins\/[^/]+|convention)\/index\.ts$/ }, ({ kind, path }) =>
      kind === 'entry-point' ? { namespace, path } : undefined,
    )
    build.onResolve({ filter: /./, namespace }, ({ path }) => ({ path, external: true }))
    build.onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: `export { ${valuesOf(path)} } from '${root}'`,
    }))
  },
}

/**
 * Lets the CommonJS packages that are part of the build `require()` the modules of Node.js in an ES module. These packages
 * are in `devDependencies`: an import of a CommonJS package has Node.js look for its exports in the source, which costs more
 * than to load this package.
 */
export const importBuiltins: EsbuildPlugin = {
  name: 'import-builtins',
  setup(build) {
    const namespace = 'builtin'
    build.onResolve({ filter: /^node:/ }, ({ kind, path }) =>
      kind === 'require-call' ? { namespace, path, sideEffects: false } : undefined,
    )
    build.onLoad({ filter: /./, namespace }, ({ path }) => ({ contents: `export * from '${path}'` }))
  },
}

/**
 * Tells bundlers that the values which a module makes at its top level can be left out where they are not used, as
 * `sideEffects` of package.json says of whole modules: `f(b)` becomes a call that is marked as pure.
 */
export const markPure: BuildPlugin = {
  name: 'mark-pure',
  renderChunk(code) {
    const marks = sourceOf(code)
      .statements.filter(ts.isVariableStatement)
      .flatMap(({ declarationList }) => [...declarationList.declarations])
      .flatMap(({ initializer }) => (initializer === undefined || isPure(initializer) ? [] : [initializer]))
      .flatMap((value): [at: number, text: string][] => [
        [value.getStart(), '/* @__PURE__ */ (() => ('],
        [value.getEnd(), '))()'],
      ])
    return { code: marks.reduceRight((text, [at, mark]) => text.slice(0, at) + mark + text.slice(at), code) }
  },
}

/**
 * Has the CommonJS build load packages with `require()`: Jest, among others, has no `import()` there. Not jose and
 * oidc-provider, which have no CommonJS build.
 */
export const requireInCommonJs: BuildPlugin = {
  name: 'require-in-commonjs',
  renderChunk(code) {
    if (this.format !== 'cjs') return undefined
    return {
      code: code.replace(
        /\bimport\(("(?!(?:jose|oidc-provider)")[^"]+")\)/g,
        'Promise.resolve().then(() => require($1))',
      ),
    }
  },
}

/** The names of the values that a source file exports. */
function valuesOf(file: string): string {
  const { statements } = sourceOf(readFileSync(file, 'utf8'))
  const declared = statements
    .filter(ts.isVariableStatement)
    .filter(({ modifiers }) => modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
    .flatMap(({ declarationList }) => declarationList.declarations.map(({ name }) => name.getText()))
  const listed = statements
    .filter(ts.isExportDeclaration)
    .flatMap(({ isTypeOnly, exportClause }) =>
      !isTypeOnly && exportClause !== undefined && ts.isNamedExports(exportClause)
        ? exportClause.elements
        : [],
    )
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ name }) => name.text)
  return [...declared, ...listed].join(', ')
}

function sourceOf(code: string): ts.SourceFile {
  return ts.createSourceFile('chunk.js', code, ts.ScriptTarget.ESNext, true)
}

/** Whether bundlers know by themselves that an expression has no side effects. */
function isPure(node: ts.Expression): boolean {
  return ts.isFunctionLike(node) || ts.isLiteralExpression(node) || ts.isClassExpression(node)
}
