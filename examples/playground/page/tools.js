import { element } from './dom.js'

export const pause = (/** @type {number} */ milliseconds) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/**
 * Polls an operation until it ends, and returns its last document.
 *
 * @param {string} path
 * @param {(progress: number) => void} onProgress
 * @returns {Promise<{ status: string, error?: { code: string } }>}
 */
export async function lastDocument(path, onProgress) {
  for (;;) {
    const response = await fetch(path)
    if (!response.ok) throw new Error(`the operation cannot be read: ${response.status}`)
    const document = await response.json()
    onProgress(document.status === 'In progress' ? (document.progress ?? 0) : 1)
    if (document.status !== 'In progress') return document
    await pause(1000 * Number(response.headers.get('retry-after') ?? 1))
  }
}

/**
 * Returns an order of the user.
 *
 * @param {import('./cards.js').Stage['send']} send
 */
export async function orderOf(send) {
  const { text } = await send({ path: '/v1/users/me?fields=id' })
  // The digits of the twin, which no Number has rounded.
  const id = JSON.parse(text).id_str ?? '0'
  return `{"user_id":${id},"total_amount":900,"currency":"EUR","items":[{"sku":"tea-earl-grey","quantity":2,"unit_amount":450}]}`
}

/**
 * Returns a request that changes the user.
 *
 * @param {string} body
 * @param {Record<string, string>} [headers]
 */
export function patchMe(body, headers = {}) {
  return {
    method: 'PATCH',
    path: '/v1/users/me',
    headers: { 'content-type': 'application/merge-patch+json', ...headers },
    body,
  }
}

/**
 * Returns a request that creates something.
 *
 * @param {string} path
 * @param {string} body
 * @param {Record<string, string>} [headers]
 */
export function post(path, body, headers = {}) {
  return { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body }
}

/**
 * Returns a path of this server, whatever is typed.
 *
 * @param {string} text
 */
export function localPath(text) {
  return `/${text.replace(/^[/\\\s]+/, '')}`
}

/** @param {readonly (readonly [string, string, boolean?])[]} rows */
export function table(rows) {
  return element(
    'pre',
    { tabindex: '0' },
    rows.flatMap(([name, value, isRight]) => [
      `${name.padEnd(22)} `,
      isRight === undefined
        ? value
        : element('strong', { class: isRight ? 'good' : 'bad' }, [`${value} ${isRight ? '✓' : '✗'}`]),
      '\n',
    ]),
  )
}
