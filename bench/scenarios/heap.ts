import { bootOf } from '../fixtures/boot.js'

export default {
  ...bootOf(100),
  title: 'the heap of an idle app with 100 routes with response schemas',
  unit: 'MB of heap',
  measures: 'heap' as const,
  bounds: { preset: { max: 2 } },
}
