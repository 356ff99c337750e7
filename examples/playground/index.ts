import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import conventions, { type ExplainedStep, ProblemError, serverOptions } from 'fastify-conventions'
import { Marked } from 'marked'
import { pageHeaders } from '../demo-server/pages.js'

/** What {@link mountPlayground} needs. */
export interface PlaygroundOptions {
  /** Whether any visitor may turn the service off for some seconds, and see the path of a request. */
  readonly isDevelopment: boolean
}

/** The files of the page, which another plugin serves. */
export const playgroundPages = [{ url: '/playground/*', reason: 'the playground is public' }]

const maintenanceSeconds = 6

// No script and no style but those of the page, and requests to this server alone.
const headers = pageHeaders("default-src 'self';img-src 'self' data:", 'same-origin')

/** These routes are of the page, not of the API. */
const config = {
  bearer: false,
  pathGuard: false,
  responseRules: false,
  idempotency: false,
  fields: false,
} as const
const hide = { hide: true } as const

interface Route {
  readonly method: string
  readonly url: string
}

interface Path {
  readonly steps: readonly ExplainedStep[]
  isHandled: boolean
}

/** Fastify publishes each start of a handler there. */
const handlerStarts = 'tracing:fastify.request.handler:start'

const keptPaths = 100

/** The paths of the last requests of cards, by the ids that the page gave them. */
const paths = new Map<string, Path>()

const idOf = ({ headers }: Pick<FastifyRequest, 'headers'>) => String(headers['x-playground-id'])

/** Keeps the paths of the requests of cards. To be called before the conventions are registered. */
export function watchCards(app: FastifyInstance): void {
  app.addHook('onRequest', async function watchCard(request) {
    if (request.headers['x-playground-id'] === undefined) return
    for (const id of [...paths.keys()].slice(0, 1 - keptPaths)) paths.delete(id)
    paths.set(idOf(request), { steps: app.conventions.watch(request), isHandled: false })
  })
  const noteHandler = (message: unknown) => {
    const path = paths.get(idOf((message as { readonly request: FastifyRequest }).request))
    if (path !== undefined) path.isHandled = true
  }
  subscribe(handlerStarts, noteHandler)
  app.addHook('onClose', async () => void unsubscribe(handlerStarts, noteHandler))
}

/** Mounts the playground at `/`, and the routes that its cards need beside those of the API. */
export async function mountPlayground(
  app: FastifyInstance,
  { isDevelopment }: PlaygroundOptions,
): Promise<void> {
  const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  await app.register(fastifyStatic, {
    root: folder('../playground/page'),
    prefix: '/playground/',
    schemaHide: true,
    setHeaders: (reply) => reply.headers(headers),
  })
  app.get<{ Params: { name: string } }>(
    '/playground/docs/:name',
    { schema: hide, config },
    async function showDocs({ params: { name } }, reply) {
      if (!/^[\w-]+\.md$/.test(name)) throw new ProblemError('not-found')
      const text = await readFile(folder(`../../docs/${name}`), 'utf8').catch(() => {
        throw new ProblemError('not-found')
      })
      return reply
        .headers(headers)
        .type('text/html')
        .send(pageOf(name, await markdown.parse(text)))
    },
  )

  app.get('/', { schema: hide, config }, function showPlayground(_request, reply) {
    return reply.headers(headers).sendFile('index.html')
  })

  app.get(
    '/playground/quota',
    { schema: hide, config: { ...config, rateLimit: { max: 5, timeWindow: '10s' } } },
    async function countRequest() {
      return { counted: true }
    },
  )

  app.post<{ Body: Route }>(
    '/playground/boots',
    {
      schema: {
        hide: true,
        body: {
          type: 'object',
          required: ['method', 'url'],
          additionalProperties: false,
          properties: {
            method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
            url: { type: 'string', maxLength: 200 },
          },
        },
      },
      // Each request starts an app.
      config: { ...config, rateLimit: { max: 20, timeWindow: '1m' } },
    },
    async function bootApp({ body }) {
      return { message: await bootFailure(body) }
    },
  )

  if (isDevelopment) {
    app.get<{ Params: { id: string } }>(
      '/playground/paths/:id',
      { schema: hide, config: { ...config, maintenance: false, rateLimit: false } },
      async function showPath({ params }) {
        const path = paths.get(params.id)
        if (path === undefined) throw new ProblemError('not-found')
        return path
      },
    )

    app.post('/playground/maintenance', { schema: hide, config }, async function beginMaintenance() {
      const until = new Date(Date.now() + maintenanceSeconds * 1000)
      await app.maintenance.enable({ until, reason: 'A visitor of the playground tries it' })
      return { until: until.toISOString() }
    })
  }
}

const markdown = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const id = text
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-')
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const label = this.parser.parseInline(tokens)
      // The server has the pages of the docs, and no other file of the repository.
      return href.startsWith('../') ? label : `<a href="${href}">${label}</a>`
    },
  },
})

function pageOf(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/playground/playground.css">
  </head>
  <body class="docs"><nav><a href="/">Playground</a></nav><article>${content}</article></body>
</html>
`
}

/** Returns what the boot of an app with the conventions and one route says; `null` if it boots. */
async function bootFailure({ method, url }: Route): Promise<string | null> {
  const app = Fastify(serverOptions())
  try {
    await app.register(conventions)
    app.route({ method, url, handler: async () => ({}) })
    await app.ready()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await app.close()
  }
}
