import type { DevUser } from './options.js'

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }
ul { list-style: none; padding: 0; columns: 2 }
button { font: inherit; padding: .3rem .8rem; margin: .15rem 0; cursor: pointer }`

/**
 * Header fields of the pages: they may load their own style and icon only, and no page may frame them. There is no
 * `form-action`, because browsers apply it to the redirect that follows, which leads to the app.
 */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none';style-src 'unsafe-inline';img-src data:;base-uri 'none';frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export function loginPage(client: string, users: readonly DevUser[]): string {
  const buttons = users.map(
    ({ id, name }) => `<li><button name="user_id" value="${escaped(id)}">${escaped(name)}</button></li>`,
  )
  return page(
    'Log in',
    `<p>Who uses <strong>${escaped(client)}</strong>? There are no passwords: this is for development only.</p>
<form method="post"><ul>
${buttons.join('\n')}
</ul></form>
<form method="post"><label>Another user: <input name="user_id" required></label>
<button>Log in by id</button></form>`,
  )
}

/** Whether a client asks for a page, as browsers do: a failure is one for them alone. */
export function wantsPage(accept: string | undefined): boolean {
  return accept?.includes('text/html') === true
}

export function failurePage(reason: string): string {
  return page('This login cannot go on', `<p>${escaped(reason)}</p>`)
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}</style>
<h1>${title}</h1>
${content}
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
