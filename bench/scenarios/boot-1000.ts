import { bootOf } from '../fixtures/boot.js'

export default bootOf(1_000)
