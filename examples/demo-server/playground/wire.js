/**
 * @typedef {object} Request What a card sends.
 * @property {string} [method] Default: GET.
 * @property {string} path
 * @property {Record<string, string>} [headers]
 * @property {string} [body]
 * @property {boolean} [isAnonymous] Without the cookie of the session, as another client would.
 * @property {boolean} [isForged] Without the XSRF token, as a page of another site would.
 */

/**
 * @typedef {object} Exchange A request and its response.
 * @property {Request} request With the headers that the page has added.
 * @property {number} status
 * @property {string} statusText
 * @property {[string, string][]} headers
 * @property {string} text
 * @property {number} bytes Of the body.
 * @property {string | null} redirectedTo Where a redirect led that the browser has followed.
 */

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Sends a request. The browser's cache has no part in it, so that a 304 is seen as what it is.
 *
 * @param {Request} request
 * @returns {Promise<Exchange>}
 */
export async function send({
  method = 'GET',
  path,
  headers = {},
  body,
  isAnonymous = false,
  isForged = false,
}) {
  const sent = { ...headers }
  const token = xsrfToken()
  if (!safeMethods.has(method) && !isAnonymous && !isForged && token !== null) sent['X-XSRF-TOKEN'] = token
  const response = await fetch(path, {
    method,
    headers: sent,
    body,
    cache: 'no-store',
    credentials: isAnonymous ? 'omit' : 'same-origin',
  })
  const content = await response.arrayBuffer()
  return {
    request: { method, path, headers: sent, body, isAnonymous },
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers],
    text: new TextDecoder().decode(content),
    bytes: content.byteLength,
    redirectedTo: response.redirected ? new URL(response.url).pathname : null,
  }
}

/**
 * Returns the value of a header of a response.
 *
 * @param {Exchange} exchange
 * @param {string} name
 * @returns {string | null}
 */
export function headerOf({ headers }, name) {
  return headers.find(([one]) => one === name.toLowerCase())?.[1] ?? null
}

/**
 * Returns the command that sends the same request. `$TOKEN` takes the place of the session.
 *
 * @param {Request} request
 * @returns {string}
 */
export function curlOf({ method = 'GET', path, headers = {}, body, isAnonymous = false }) {
  const isOpen = isAnonymous || path.startsWith('/playground/') || !hasSession()
  const parts = ['curl -i']
  if (method !== 'GET') parts.push(`-X ${method}`)
  parts.push(quoted(location.origin + path))
  if (!isOpen) parts.push('-H "authorization: Bearer $TOKEN"')
  for (const [name, value] of Object.entries(headers)) {
    if (name !== 'X-XSRF-TOKEN') parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  }
  if (body !== undefined) parts.push(`-d ${quoted(body)}`)
  return parts.join(' ')
}

/** Returns whether a user is logged in: the token comes with the session. */
export function hasSession() {
  return xsrfToken() !== null
}

/** Returns the token of the session, which the forms and the unsafe methods of this page send. */
export function xsrfToken() {
  return /(?:^|; )(?:__Host-)?XSRF-TOKEN=([^;]*)/.exec(document.cookie)?.[1] ?? null
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
