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
        Object.assign(form, {
          action: url,
          method: method === 'GET' ? 'get' : 'post',
          enctype,
          target: sink.name,
        })
        for (const [name, value] of [
          ['_method', method],
          ['name', 'Eve'],
          ['_csrf', 'x'],
        ]) {
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
          note(
            `form ${method} ${path}`,
            sink.contentDocument?.URL === 'about:blank' ? '' : sink.contentDocument?.body.innerText,
          )
        } catch {}
        sink.remove()
        form.remove()
      }
    }
    navigator.sendBeacon(url, new URLSearchParams({ name: 'Eve' }))
    const script = document.createElement('script')
    const image = document.createElement('img')
    const style = Object.assign(document.createElement('link'), { rel: 'stylesheet' })
    const frame = document.createElement('iframe')
    const object = document.createElement('object')
    const video = document.createElement('video')
    const outcomes = await Promise.all([
      settled(script, () => Object.assign(script, { src: url })),
      settled(image, () => Object.assign(image, { src: url })),
      settled(style, () => Object.assign(style, { href: url })),
      settled(frame, () => Object.assign(frame, { src: url })),
      settled(object, () => Object.assign(object, { data: url })),
      settled(video, () => Object.assign(video, { src: url })),
    ])
    note(`script ${path}`, outcomes[0] === 'load' ? 'loaded' : '')
    note(`image ${path}`, image.naturalWidth)
    note(`style ${path}`, outcomes[2] === 'load' ? style.sheet?.cssRules.length : '')
    note(`frame ${path}`, frame.contentDocument?.body?.innerText)
    note(`object ${path}`, object.contentDocument?.body?.innerText)
    for (const element of [script, image, style, frame, object, video]) element.remove()
  }
  await Promise.all(paths.map(attackPath))
  return read
}
