const mark = ';self='

/** Is there a tag among those of a precondition that {@link withCaller} made? */
export function hasCaller(tags: string | undefined): tags is string {
  return tags?.includes(mark) === true
}

/**
 * An entity tag with the caller in it. At one URL, such as `/v1/users/me`, callers get different representations, and
 * those have different tags (RFC 9110 §8.8.3): a client that changes its account would otherwise be told that the record
 * of the account before is still right, where both are of the same version.
 *
 * What is no entity tag is left as it is, as is a tag that has the caller already.
 */
export function withCaller(tag: string, id: string): string {
  return tag.endsWith('"') && !tag.endsWith(endOf(id)) ? `${tag.slice(0, -1)}${endOf(id)}` : tag
}

/** The tags of a precondition without this caller in them; those of other callers match nothing. */
export function withoutCaller(tags: string, id: string): string {
  return tags.replaceAll(endOf(id), '"')
}

function endOf(id: string): string {
  return `${mark}${encodeURIComponent(id)}"`
}
