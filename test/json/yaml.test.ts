import t from 'tap'
import { yamlOf } from '../../src/json/yaml.js'

t.test('data becomes YAML in block style; what YAML 1.1 does not read as text is quoted', async (t) => {
  const operations = { '/v1/users': { get: { tags: ['a', { b: 1, c: [2] }] } } }
  const quoted = { 'x a': [], on: {}, Yes: true, n: null, '1st': 'a: b' }
  const data = { 'x-long_name': 1.5, none: false, left: undefined, ...operations, ...quoted }
  const expected = `x-long_name: 1.5
none: false
"/v1/users":
  get:
    tags:
      - "a"
      -
        b: 1
        c:
          - 2
"x a": []
"on": {}
"Yes": true
"n": null
"1st": "a: b"
`
  t.equal(yamlOf(data), expected)
})
