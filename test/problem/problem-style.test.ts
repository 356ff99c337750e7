import Fastify from 'fastify'
import t from 'tap'
import { declareStyle, defaultStyle, typeBaseOf } from '../../src/problem/problem-style.js'

t.test('typeBase applies to a context and its child contexts', async (t) => {
  const app = Fastify()
  t.equal(typeBaseOf(app), 'urn:problem-type:fastify-conventions:', 'the default')
  app.register(async (above) => {
    declareStyle(above, { ...defaultStyle, typeBase: 'https://example.com/' })
    above.register(async (below) => {
      t.equal(typeBaseOf(below), 'https://example.com/')
      declareStyle(below, { ...defaultStyle, typeBase: 'https://below.example/' })
      t.equal(typeBaseOf(below), 'https://below.example/')
    })
    t.equal(typeBaseOf(above), 'https://example.com/')
  })
  await app.ready()
  t.equal(typeBaseOf(app), 'urn:problem-type:fastify-conventions:', 'what is above knows nothing of it')
})
