import t from 'tap'
import { hookFor, kindOf } from '../../../src/plugins/caching/route-kind.js'

t.test('what the methods of a route do', async (t) => {
  t.equal(kindOf(['GET']), 'reads')
  t.equal(kindOf(['HEAD', 'GET']), 'reads')
  t.equal(kindOf(['PUT', 'PATCH']), 'writes')
  t.equal(kindOf(['GET', 'POST']), 'both')
  t.equal(kindOf(['OPTIONS']), 'writes')
})

t.test('a route of one kind has its hook as it is, one of both decides by the method', async (t) => {
  const ran: string[] = []
  const reads = (_request: unknown, _reply: unknown, what: string): void => void ran.push(`reads ${what}`)
  const writes = (_request: unknown, _reply: unknown, what: string): void => void ran.push(`writes ${what}`)
  t.equal(hookFor('reads', reads, writes), reads)
  t.equal(hookFor('writes', reads, writes), writes)
  const both = hookFor('both', reads, writes)
  for (const method of ['GET', 'HEAD', 'POST']) both({ method } as never, {} as never, method)
  t.strictSame(ran, ['reads GET', 'reads HEAD', 'writes POST'])
})
