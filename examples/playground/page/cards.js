import { element } from './dom.js'
import { lastDocument, localPath, orderOf, patchMe, pause, post, table } from './tools.js'
import { headerOf, send as sendUnseen, xsrfToken } from './wire.js'

/**
 * @typedef {object} Stage What a card writes to.
 * @property {(name: string) => string} value Of an input.
 * @property {(...content: (string | Node)[]) => void} say
 * @property {(node: Node) => void} add
 * @property {(request: import('./wire.js').Request, notable?: readonly string[]) => Promise<import('./wire.js').Exchange>} send
 */

/**
 * @typedef {object} Card One convention, with a live request.
 * @property {string} id
 * @property {string} title
 * @property {string} text
 * @property {string} docs Name of a page.
 * @property {boolean} [isOpen] Whether it shows something without a login.
 * @property {Record<string, { label: string, value: string, options?: readonly string[] }>} [inputs]
 * @property {readonly string[]} [buttons] Default: `Send`.
 * @property {(stage: Stage, button: string) => Promise<void>} run
 */

/** @type {readonly Card[]} */
export const cards = [
  {
    id: 'routes',
    title: 'A bad route fails the boot',
    text: 'Type a route. The server starts an app with that route and the conventions, and shows what the boot says.',
    docs: 'path-guard',
    isOpen: true,
    inputs: {
      method: { label: 'Method', value: 'GET', options: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
      url: { label: 'Path', value: '/v1/Order/get_all' },
    },
    buttons: ['Boot'],
    async run({ value, say, add }) {
      const body = JSON.stringify({ method: value('method'), url: value('url') })
      const { status, text } = await sendUnseen(post('/playground/boots', body))
      const answer = JSON.parse(text)
      if (status !== 200) return say(answer.detail ?? answer.title)
      if (answer.message === null) return say('The app boots: this route keeps the conventions.')
      say('The app does not boot:')
      add(element('pre', { class: 'table', tabindex: '0' }, [answer.message]))
    },
  },
  {
    id: 'paths',
    title: 'A path has one spelling',
    text: 'An uppercase or percent-encoded spelling of a path never reaches a handler. The 404 names the right path.',
    docs: 'path-guard',
    isOpen: true,
    inputs: { path: { label: 'Path', value: '/v1/Users' } },
    async run({ value, send }) {
      await send({ path: localPath(value('path')) })
    },
  },
  {
    id: 'problems',
    title: 'Errors are problem documents',
    text: 'Every 4xx and 5xx is application/problem+json (RFC 9457), and a validation error points at each bad member.',
    docs: 'problems',
    inputs: { body: { label: 'Body of POST /v1/users', value: '{"name":"","age":-1,"nick":"x"}' } },
    async run({ value, send }) {
      await send(post('/v1/users', value('body')), ['content-type'])
    },
  },
  {
    id: 'fields',
    title: 'Clients select fields',
    text: 'The response has the selected fields, and the handler reads the same columns and no others.',
    docs: 'fields',
    inputs: { fields: { label: 'fields', value: 'id,name' } },
    async run({ value, send, say }) {
      const whole = await send({ path: '/v1/users/me' })
      const selected = await send({ path: `/v1/users/me?fields=${encodeURIComponent(value('fields'))}` })
      if (selected.status === 200) say(`${whole.bytes - selected.bytes} of ${whole.bytes} bytes saved.`)
    },
  },
  {
    id: 'integers',
    title: 'Large integers are exact',
    text: 'JavaScript reads 2^53 + 1 as its even neighbour. Each int64 has a twin, the same digits as a string.',
    docs: 'integer-twins',
    async run({ send, add }) {
      const { text, status } = await send({ path: '/v1/users/me?fields=id' })
      if (status !== 200) return
      const digits = /"id":(\d+)/.exec(text)?.[1] ?? ''
      const { id, id_str: twin } = JSON.parse(text)
      add(
        table([
          ['over the wire', digits],
          ['JSON.parse(…).id', String(id), String(id) === digits],
          ['JSON.parse(…).id_str', twin, twin === digits],
        ]),
      )
    },
  },
  {
    id: 'caching',
    title: 'Unchanged responses are not sent again',
    text: 'The second request says what the client has. The 304 has no content, and the handler does not run.',
    docs: 'caching',
    buttons: ['Send twice'],
    async run({ send, say }) {
      const first = await send({ path: '/v1/users/me' }, ['etag', 'cache-control', 'last-modified'])
      const tag = headerOf(first, 'etag')
      if (tag === null) return
      const again = { path: '/v1/users/me', headers: { 'If-None-Match': tag } }
      const second = await send(again, ['if-none-match', 'etag'])
      if (second.status === 304) say(`${first.bytes} bytes of content saved.`)
    },
  },
  {
    id: 'races',
    title: 'No update is lost',
    text: 'Two writers have read the same version, and write at the same moment. One wins; the other gets a 412.',
    docs: 'caching',
    buttons: ['Race'],
    async run({ send, say }) {
      const tag = headerOf(await send({ path: '/v1/users/me' }, ['etag']), 'etag')
      if (tag === null) return
      const age = 20 + Math.floor(Math.random() * 50)
      const write = (/** @type {number} */ value) =>
        send(patchMe(`{"age":${value}}`, { 'If-Match': tag }), ['if-match', 'etag'])
      const ends = await Promise.all([write(age), write(age + 1)])
      const winner = ends.findIndex(({ status }) => status === 200)
      if (winner >= 0) say(`Writer ${winner + 1} was first. Writer ${2 - winner} has to read again.`)
    },
  },
  {
    id: 'idempotency',
    title: 'A repeated request runs once',
    text: 'A client that got no response sends its POST again, with the same key: one order, and the same bytes.',
    docs: 'idempotency',
    buttons: ['Send twice'],
    async run({ send, say }) {
      const key = `"${crypto.randomUUID()}"`
      const request = post('/v1/orders', await orderOf(send), { 'Idempotency-Key': key })
      const first = await send(request, ['idempotency-key', 'location'])
      const second = await send(request, ['idempotency-key', 'idempotent-replayed', 'location'])
      if (first.status === 201)
        say(first.text === second.text ? 'The same bytes, one order.' : 'The responses differ.')
    },
  },
  {
    id: 'operations',
    title: 'Work that takes long is an operation',
    text: 'The 202 names the operation. Its document has the progress, and Retry-After says when to poll again.',
    docs: 'operations',
    buttons: ['Start', 'Start and cancel'],
    async run({ send, say, add }, button) {
      const request = post('/v1/orders', await orderOf(send), { Prefer: 'respond-async' })
      const notable = ['prefer', 'preference-applied', 'location', 'operation-location', 'retry-after']
      const started = await send(request, notable)
      const path = headerOf(started, 'location')
      if (started.status !== 202 || path === null) return
      const bar = element('progress', { max: '1', value: '0', 'aria-label': 'Progress of the operation' })
      add(bar)
      if (button === 'Start and cancel') {
        await pause(500)
        await send({ method: 'DELETE', path })
      }
      const end = await lastDocument(headerOf(started, 'operation-location') ?? path, (progress) => {
        bar.value = progress
      })
      say(end.status === 'Succeeded' ? 'It has succeeded.' : `It has failed: ${end.error?.code}.`)
      await send({ path }, ['location'])
    },
  },
  {
    id: 'pages',
    title: 'Lists have pages',
    text: 'Each page has a link to the next one, by key: no item is missed or repeated when others come and go.',
    docs: 'lists',
    inputs: { limit: { label: 'limit', value: '2' } },
    buttons: ['Send', 'Follow all links'],
    async run({ value, send, say }, button) {
      /** @type {string | undefined} */
      let path = `/v1/orders?limit=${encodeURIComponent(value('limit'))}&fields=id,status`
      for (let count = 1; path !== undefined; count += 1) {
        const answer = await send({ path }, ['link'])
        path = /^<([^>]*)>; rel="next"$/.exec(headerOf(answer, 'link') ?? '')?.[1]
        if (path === undefined)
          return say(`${count} ${count === 1 ? 'page' : 'pages'}: the last one has no link.`)
        if (button === 'Send' || count === 20) return
      }
    },
  },
  {
    id: 'formats',
    title: 'XML and CSV beside JSON',
    text: 'By a parameter or by Accept, from the same handler and the same schema.',
    docs: 'formats',
    inputs: {
      accept: { label: 'Accept', value: 'text/csv', options: ['text/csv', 'application/xml', 'text/html'] },
    },
    async run({ value, send }) {
      const request = { path: '/v1/orders?limit=2', headers: { Accept: value('accept') } }
      await send(request, ['accept', 'content-type', 'vary'])
    },
  },
  {
    id: 'overrides',
    title: 'A form that only can POST',
    text: 'The field _method makes this form a PATCH before routing. Log, hooks and handler see the PATCH.',
    docs: 'method-override',
    inputs: { age: { label: 'age', value: '37' } },
    buttons: ['Submit'],
    async run({ value, send }) {
      const form = new URLSearchParams({ _method: 'PATCH', _csrf: xsrfToken() ?? '', age: value('age') })
      await send({
        method: 'POST',
        path: '/v1/users/me',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
        isForged: true,
      })
    },
  },
  {
    id: 'forgery',
    title: 'A forged request is refused',
    text: 'A page of another site can send a request with your cookie, but it does not know the token.',
    docs: 'xsrf',
    buttons: ['Send without the token', 'Send with it'],
    async run({ send }, button) {
      const isForged = button === 'Send without the token'
      await send({ ...patchMe('{"gender":null}'), isForged, showsCookie: true }, ['x-xsrf-token'])
    },
  },
  {
    id: 'quotas',
    title: 'A caller has a quota',
    text: 'This route takes five requests in ten seconds. The fields say what is left, and when it is full again.',
    docs: 'rate-limit',
    isOpen: true,
    buttons: ['Send', 'Send 6'],
    async run({ send, add, say }, button) {
      const meter = element('progress', { max: '5', value: '5', 'aria-label': 'Requests that are left' })
      add(meter)
      for (let left = button === 'Send' ? 1 : 6; left > 0; left -= 1) {
        const notable = ['ratelimit', 'ratelimit-policy', 'retry-after']
        const answer = await send({ path: '/playground/quota' }, notable)
        const { r = '0', t = '0' } =
          /;r=(?<r>\d+);t=(?<t>\d+)/.exec(headerOf(answer, 'ratelimit') ?? '')?.groups ?? {}
        meter.value = Number(r)
        if (left > 1) continue
        say(`${r} left, full again in ${t} s.`)
        setTimeout(() => {
          meter.value = 5
        }, Number(t) * 1000)
      }
    },
  },
  {
    id: 'maintenance',
    title: 'In maintenance, every path is a 503',
    text: 'The switch is turned for six seconds. Another client, without a login, asks until it is served again.',
    docs: 'maintenance',
    isOpen: true,
    buttons: ['Begin maintenance'],
    async run({ send, say, add }) {
      const begun = await send({ method: 'POST', path: '/playground/maintenance' })
      if (begun.status !== 200) return say('Only the demo with its own issuer lets everybody do this.')
      const countdown = element('p', { class: 'said' })
      add(countdown)
      const first = await send({ path: '/v1/terms', isAnonymous: true }, ['retry-after'])
      for (let left = Number(headerOf(first, 'retry-after') ?? 0); left > 0; left -= 1) {
        countdown.textContent = `Retry-After counts down: ${left}`
        await pause(1000)
      }
      countdown.textContent = 'Retry-After has passed:'
      await send({ path: '/v1/terms', isAnonymous: true })
    },
  },
]
