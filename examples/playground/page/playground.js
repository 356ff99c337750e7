import { cards } from './cards.js'
import { element } from './dom.js'
import { curlOf, hasSession, pathOf, send, tokenCommandOf } from './wire.js'

/** @typedef {import('./wire.js').Exchange} Exchange */

const shownBody = 4_000

for (const card of cards) {
  const { id, title, text, docs, isOpen = false, inputs: given = {}, buttons: labels = ['Send'], run } = card
  // What a run comes to is above its requests.
  const results = element('div', { 'aria-live': 'polite' })
  const exchanges = element('div')
  const panel = element('div', { class: 'controls' })
  const article = element('article', { id, 'aria-labelledby': `${id}-title` }, [
    element('h2', { id: `${id}-title` }, [title]),
    element('p', {}, [
      text,
      ' ',
      element('a', { href: `/playground/docs/${docs}.md` }, [`More: ${docs}.md`]),
    ]),
    panel,
    results,
    exchanges,
  ])
  const inputs = Object.fromEntries(
    Object.entries(given).map(([name, { label, value, options }]) => {
      const input =
        options === undefined ? element('input', { value, spellcheck: 'false' }) : select(options, value)
      panel.append(element('label', {}, [label, input]))
      return [name, input]
    }),
  )
  const stage = {
    /** @param {string} name */
    value: (name) => inputs[name].value,
    /** @param {(string | Node)[]} content */
    say: (...content) => results.append(element('p', { class: 'said' }, content)),
    /** @param {Node} node */
    add: (node) => results.append(node),
    /** @param {import('./wire.js').Request} request @param {readonly string[]} [notable] names of headers to mark */
    async send(request, notable = []) {
      const exchange = await send(request)
      const shown = picture(exchange, notable)
      exchanges.append(shown)
      const path = await pathOf(exchange)
      if (path !== null) shown.prepend(line(path, exchange))
      return exchange
    },
  }
  for (const [index, label] of labels.entries()) {
    const button = element('button', index === 0 ? { type: 'button' } : { type: 'button', class: 'plain' }, [
      label,
    ])
    button.addEventListener('click', async () => {
      const buttons = panel.querySelectorAll('button')
      for (const one of buttons) one.disabled = true
      results.replaceChildren()
      exchanges.replaceChildren()
      try {
        if (!isOpen && !hasSession())
          stage.say('Without a login, this is a 401. ', logInLink(), ' by one click.')
        await run(stage, label)
      } catch (error) {
        stage.say(`The request failed: ${error instanceof Error ? error.message : String(error)}`)
      } finally {
        for (const one of buttons) one.disabled = false
        button.focus({ preventScroll: true })
      }
    })
    panel.append(button)
  }
  document.getElementById('cards')?.append(article)
  document.querySelector('#index nav')?.append(element('a', { href: `#${id}` }, [title]))
}
document.getElementById('index')?.toggleAttribute('open', matchMedia('(min-width: 45rem)').matches)

await showSession()

/** Shows who is logged in, and how to change that. */
async function showSession() {
  const session = document.getElementById('session')
  const exchange = hasSession() ? await send({ path: '/v1/users/me?fields=id,name' }) : null
  if (exchange?.status !== 200) {
    session?.replaceChildren(
      logInLink(),
      ' as a user of the demo, by one click: most cards read and change your own records.',
    )
    return
  }
  const logOut = element('button', { type: 'button', class: 'plain' }, ['Log out'])
  logOut.addEventListener('click', async () => {
    await send({ method: 'POST', path: '/logout' })
    location.reload()
  })
  const { id_str: id, name } = JSON.parse(exchange.text)
  const token = copyButton('Copy TOKEN=… for curl', tokenCommandOf(id))
  session?.replaceChildren(`You are ${name}. `, token, ' ', logOut)
}

function logInLink() {
  return element('a', { href: '/login' }, ['Log in'])
}

/**
 * Returns a button that copies a text.
 *
 * @param {string} label @param {string} text
 */
function copyButton(label, text) {
  const button = element('button', { type: 'button', class: 'plain', title: text }, [label])
  button.addEventListener('click', async () => {
    // Only pages of a secure origin have the clipboard.
    await navigator.clipboard?.writeText(text)
    button.textContent = navigator.clipboard === undefined ? 'Select it' : 'Copied'
  })
  return button
}

const phasesBeforeHandler = new Set(['onRequest', 'preParsing', 'preValidation', 'preHandler'])

/**
 * Shows the path of a request as a line: the conventions in their order, the handler, and which of them answered.
 *
 * @param {import('./wire.js').Path} path @param {Exchange} exchange
 */
function line({ steps, isHandled }, { status, text }) {
  /** @param {string} said */
  const ends = (said) => said === 'refused' || said === 'answered'
  const before = steps.filter(({ phase }) => phasesBeforeHandler.has(phase))
  const isEnded = steps.some(({ said }) => ends(said))
  const isReached = isHandled && !before.some(({ said }) => ends(said))
  const code = /"code":"([\w-]+)"/.exec(text)?.[1]
  const answers = `${status}${status >= 400 && code ? ` ${code}` : ''}`
  const handler = isReached
    ? { step: 'handler', said: isEnded ? 'runs' : 'answered', detail: isEnded ? '' : answers }
    : { step: 'handler', said: 'nothing', detail: '' }
  const fastify = { step: 'Fastify', said: 'answered', detail: answers }
  const stops = [
    ...before,
    ...(isReached || isEnded ? [] : [fastify]),
    handler,
    ...steps.filter((step) => !before.includes(step)),
  ]
  return element(
    'ol',
    { class: 'path', 'aria-label': 'Path of the request' },
    stops.map(({ step, said, detail }) => {
      const isBad = ends(said) && status >= 400
      const kind = `${said}${ends(said) ? ` ends ${isBad ? 'bad' : 'good'}` : ''}`
      // The names of the headers that it sets are in the response.
      const words = ends(said) ? ` ${detail}` : ''
      return element('li', { class: kind, title: detail }, [`${step.replace(':last', '')}${words}`])
    }),
  )
}

/**
 * Shows the bytes of a request and of its response side by side, with a command that sends the same.
 *
 * @param {Exchange} exchange
 * @param {readonly string[]} notable
 */
function picture({ request, status, statusText, headers, text, bytes, redirectedTo }, notable) {
  const isNotable = (/** @type {[string, string]} */ [name]) =>
    name.toLowerCase() === 'content-type' || notable.includes(name.toLowerCase())
  const field = (/** @type {[string, string]} */ [name, value]) => [
    notable.includes(name.toLowerCase()) ? element('mark', {}, [`${name}: ${value}`]) : `${name}: ${value}`,
    '\n',
  ]
  const others = headers.filter((header) => !isNotable(header))
  const rest = text.length > shownBody ? `\n… ${text.length - shownBody} more characters` : ''
  const curl = curlOf(request)
  return element('div', { class: 'exchange' }, [
    element('div', {}, [
      element('h3', {}, [request.isAnonymous ? 'Request of another client' : 'Request']),
      pre([
        `${request.method} ${request.path}\n`,
        ...Object.entries(request.headers ?? {}).flatMap(field),
        ...(request.body === undefined ? [] : [`\n${request.body}`]),
      ]),
    ]),
    element('div', {}, [
      element('h3', {}, [
        `Response, ${bytes.toLocaleString('en')} bytes of content${redirectedTo === null ? '' : `, after a redirect to ${redirectedTo}`}`,
      ]),
      pre([
        element('strong', { class: status < 400 ? 'good' : 'bad' }, [`${status} ${statusText}`.trim()]),
        '\n',
        ...headers.filter(isNotable).flatMap(field),
        `\n${text.slice(0, shownBody)}${rest}`,
      ]),
      element('details', {}, [
        element('summary', {}, [`${others.length} more header fields`]),
        pre(others.flatMap(field)),
      ]),
    ]),
    element('div', { class: 'curl' }, [pre([curl]), copyButton('Copy', curl)]),
  ])
}

/** @param {(string | Node)[]} content */
function pre(content) {
  // A keyboard scrolls it too.
  return element('pre', { tabindex: '0' }, content)
}

/** @param {readonly string[]} options @param {string} value */
function select(options, value) {
  const node = element(
    'select',
    {},
    options.map((option) => element('option', {}, [option])),
  )
  node.value = value
  return node
}
