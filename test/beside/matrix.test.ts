import t from 'tap'
import { everydaySetUps } from './everyday-set-ups.js'
import { testSetUps } from './matrix.js'

t.test('what most apps have', (t) => testSetUps(t, everydaySetUps))
