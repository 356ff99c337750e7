const healthNames: ReadonlySet<string> = new Set(
  'health healthcheck health-check healthz heartbeat live liveness livez ping ready readiness readyz startup status'.split(
    ' ',
  ),
)

/** Whether a path pattern is that of a health route: no parameter, and a last segment such as `health` or `readyz`. */
export function isHealthPath(path: string): boolean {
  return !/[:*]/.test(path) && healthNames.has(path.slice(path.lastIndexOf('/') + 1))
}
