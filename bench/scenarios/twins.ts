import Fastify from 'fastify'
import jsonBigint from 'json-bigint'
import { writerCompiler } from '../../src/json/writer.js'
import type { CompileSerializer } from '../../src/schema/alternatives.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { microScenario } from '../scenario.js'

type Stringify = (value: unknown) => string

const pageSize = 100
// The engine remembers how the last numbers were written, but no BigInts. With 20,000 ids in turn it has forgotten each
// of them when it comes round again, as it has in a service.
const pageCount = 200
const firstLargeId = 2n ** 53n + 1n

const plain = pagesOf((index) => index + 1)
const large = pagesOf((index) => firstLargeId + BigInt(index))

const compile = await fastifyCompiler()
const stringify = compile(schemaOf({ type: 'integer' }))
const ours = twinsWriter(schemaOf({ type: 'integer', format: 'int64' }))

/** The price of large ids, where nothing else is written that could hide it. */
export default microScenario({
  title: 'writing 100 objects {id, name} as JSON, and counting its bytes as an answer does',
  baseline: 'plain',
  callsPerRound: 4_000,
  sameResult: false,
  bounds: { ours: [{ max: 2 }, { max: 0.6, to: 'jsonBigint' }] },
  variants: {
    plain: { about: 'fast-json-stringify; the ids are small numbers', run: turning(stringify, plain) },
    bigint: {
      about: 'fast-json-stringify; the ids are BigInts beyond 2^53, without twins',
      run: turning(stringify, large),
    },
    ours: { about: 'the exact writer; the ids are BigInts and have twins', run: turning(ours, large) },
    jsonBigint: {
      about: 'json-bigint; the ids are BigInts, without twins',
      run: turning((value) => jsonBigint.stringify(value), large),
    },
    native: {
      about: 'JSON.stringify; the ids are small numbers',
      run: turning((value) => JSON.stringify(value), plain),
    },
  },
})

function pagesOf(idOf: (index: number) => number | bigint): readonly object[] {
  return Array.from({ length: pageCount }, (_, page) =>
    Array.from({ length: pageSize }, (_, index) => ({
      id: idOf(page * pageSize + index),
      name: `Customer number ${index}`,
    })),
  )
}

function schemaOf(id: { readonly type: string; readonly format?: string }) {
  const properties = { id, name: { type: 'string' } }
  return { type: 'array', items: { type: 'object', required: ['id', 'name'], properties } }
}

/** Compiles a schema as Fastify does, by fast-json-stringify. */
async function fastifyCompiler(): Promise<CompileSerializer> {
  const app = Fastify()
  app.get('/', { schema: { response: { 200: { type: 'null' } } } }, async () => null)
  await app.ready()
  const { serializerCompiler } = app
  if (serializerCompiler === undefined) throw new Error('Fastify compiled no serializer')
  return (schema) => serializerCompiler({ schema, method: 'GET', url: '/', httpStatus: '200' })
}

function twinsWriter(schema: ReturnType<typeof schemaOf>): Stringify {
  const write = writerCompiler(true, compile).writerOf(shapeOf(schema))
  return (value) => write(value)
}

// A string that was put together is in pieces until somebody reads it; that belongs to the price, and JSON.stringify
// and json-bigint have paid it already.
function turning(write: Stringify, pages: readonly object[]): () => number {
  let turn = 0
  return () => Buffer.byteLength(write(pages[turn++ % pages.length]))
}
