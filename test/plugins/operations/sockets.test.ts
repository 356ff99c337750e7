/** The rows of the protocol over sockets, with a store and an engine of the process. */
import t from 'tap'
import { inProcessEngine, memoryOperationStore } from '../../../src/plugins/operations/index.js'
import { protocolRows } from './protocol-rows.js'

t.test('in one process', async (t) =>
  protocolRows(t, { openStore: () => memoryOperationStore(), openEngine: () => inProcessEngine() }),
)
