/**
 * @typedef {object} Request What a card sends.
 * @property {string} [method] Default: GET.
 * @property {string} path
 * @property {Record<string, string>} [headers]
 * @property {string} [body]
 * @property {boolean} [isAnonymous] Without the cookie of the session, as another client would.
 * @property {boolean} [isForged] Without the XSRF token, as a page of another site would.
 * @property {boolean} [showsCookie] What `curl` sends is the cookie of the session, as a browser does, not a token.
 */

/**
 * @typedef {object} Path What a request passed on the server.
 * @property {readonly { phase: string, step: string, said: string, detail: string }[]} steps
 * @property {boolean} isHandled Whether its handler ran.
 */

/**
 * @typedef {object} Exchange A request and its response.
 * @property {Request} request With the headers that the page has added.
 * @property {number} status
 * @property {string} statusText
 * @property {[string, string][]} headers
 * @property {string} text
 * @property {number} bytes Of the body.
 * @property {string} id Of the request, for its path.
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
  showsCookie = false,
}) {
  const id = crypto.randomUUID?.() ?? `${Math.random()}`
  const sent = { ...headers }
  const token = xsrfToken()
  if (!safeMethods.has(method) && !isAnonymous && !isForged && token !== null) sent['X-XSRF-TOKEN'] = token
  const response = await fetch(path, {
    method,
    headers: { ...sent, 'X-Playground-Id': id },
    body,
    cache: 'no-store',
    credentials: isAnonymous ? 'omit' : 'same-origin',
  })
  const content = await response.arrayBuffer()
  return {
    id,
    request: { method, path, headers: sent, body, isAnonymous, showsCookie },
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers],
    text: new TextDecoder().decode(content),
    bytes: content.byteLength,
    redirectedTo: response.redirected ? new URL(response.url).pathname : null,
  }
}

/**
 * Returns the path of a request; `null` where the server does not tell.
 *
 * @param {Exchange} exchange
 * @returns {Promise<Path | null>}
 */
export async function pathOf({ id }) {
  const response = await fetch(`/playground/paths/${id}`, { cache: 'no-store' })
  return response.ok ? response.json() : null
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
 * Returns the command that sends the same request. `$TOKEN` takes the place of the session, or `$SESSION` that of its cookie.
 *
 * @param {Request} request
 * @returns {string}
 */
export function curlOf({
  method = 'GET',
  path,
  headers = {},
  body,
  isAnonymous = false,
  showsCookie = false,
}) {
  const isOpen = isAnonymous || path.startsWith('/playground/') || !hasSession()
  const parts = ['curl -i']
  if (method !== 'GET') parts.push(`-X ${method}`)
  parts.push(quoted(location.origin + path))
  const cookies = `${cookieName('session')}=$SESSION; ${cookieName('XSRF-TOKEN')}=${xsrfToken()}`
  if (!isOpen) parts.push(showsCookie ? `-b "${cookies}"` : '-H "authorization: Bearer $TOKEN"')
  for (const [name, value] of Object.entries(headers)) {
    if (name !== 'X-XSRF-TOKEN' || showsCookie) parts.push(`-H ${quoted(`${name}: ${value}`)}`)
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

/**
 * Returns the name of a cookie on this origin.
 *
 * @param {string} name
 */
function cookieName(name) {
  return location.protocol === 'https:' ? `__Host-${name}` : name
}

/**
 * Returns the command that sets `$TOKEN` to a token of a user.
 *
 * @param {string} userId
 */
export function tokenCommandOf(userId) {
  const grant = 'grant_type=urn:fastify-conventions:demo:user'
  const read = `node -pe 'JSON.parse(require("fs").readFileSync(0)).access_token'`
  return `TOKEN=$(curl -s -d client_id=demo-app -d ${grant} -d user_id=${userId} ${location.origin}/oauth/token | ${read})`
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
