// Own process: it is slow
import t from 'tap'
import { testSetUps } from './matrix.js'
import { rarerSetUps } from './rarer-set-ups.js'

t.test('what fewer apps have', (t) => testSetUps(t, rarerSetUps))
