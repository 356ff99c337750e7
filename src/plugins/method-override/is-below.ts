/**
 * Is a path at or below a prefix of routes? A segment of the prefix with a parameter in it stands for any segment.
 *
 * @param prefix as routes are given it: `/v1/tenants/:tenant`; `''` for all paths
 */
export function isBelow(path: string, prefix: string): boolean {
  const segments = path.split('/')
  const wanted = prefix.replace(/\/$/, '').split('/')
  return wanted.every((segment, index) =>
    segment.includes(':') ? segments[index] !== undefined : segments[index] === segment,
  )
}
