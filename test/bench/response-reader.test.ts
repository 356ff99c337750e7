import t from 'tap'
import { readResponse } from '../../bench/response-reader.js'

const read = (text: string, method = 'GET') => readResponse(Buffer.from(text), method)

t.test('a body with a length', async (t) => {
  const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\nhello'
  const response = read(whole)
  t.equal(response?.status, 200)
  t.equal(response?.body.toString(), 'hello')
  t.equal(response?.head, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1')
  t.equal(response?.end, whole.length)
  for (let cut = 0; cut < whole.length; cut++)
    t.equal(read(whole.slice(0, cut)), null, `incomplete after ${cut}`)
  t.equal(read(`${whole}HTTP/1.1`)?.end, whole.length, 'what follows is not part of it')
})

t.test('a chunked body', async (t) => {
  const whole =
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n'
  t.equal(read(whole)?.end, whole.length)
  for (let cut = 0; cut < whole.length; cut++)
    t.equal(read(whole.slice(0, cut)), null, `incomplete after ${cut}`)
})

t.test('no body, whatever the length says', async (t) => {
  t.equal(read('HTTP/1.1 204 No Content\r\n\r\n')?.status, 204)
  t.equal(read('HTTP/1.1 304 Not Modified\r\nContent-Length: 400\r\n\r\n')?.body.length, 0)
  t.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n', 'HEAD')?.body.length, 0)
})

t.test('a body without framing', async (t) => {
  t.throws(() => read('HTTP/1.1 200 OK\r\n\r\nhello'), {
    message: 'a response has neither a length nor chunks',
  })
})
