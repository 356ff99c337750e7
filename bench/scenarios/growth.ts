import { growthScenario } from '../scenario.js'

export default growthScenario({
  title: 'a long text in each place of a request that a convention reads',
  lengths: [16_384, 32_768, 65_536],
  maxPerDoubling: 2.6,
})
