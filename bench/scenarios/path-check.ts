import { hasFault } from '../../src/plugins/path-guard/hooks.js'
import { microScenario } from '../scenario.js'

const target = '/v1/users/42/orders/4711/invoice?limit=5'
const good = /^[a-z0-9\-._~!$&'()*+,;=:@/]*(?:[?#]|$)/

/** The check of the path that every request passes. */
export default microScenario({
  title: 'check of the path of a good request target of 40 characters',
  baseline: 'regexp',
  callsPerRound: 1_000_000,
  sameResult: true,
  variants: {
    regexp: { about: 'a regular expression', run: () => good.test(target) },
    pathFault: {
      about: 'the look-up per character that the guard does',
      run: () => !hasFault(target),
    },
  },
})
