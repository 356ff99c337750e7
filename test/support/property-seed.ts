/**
 * Gives all property tests the same seed, so that a run can be repeated: the same commit passes or fails each time.
 * `npm run test:fuzz` takes a new seed for each run, to search for values that no run has tried; a failure prints its
 * seed and its path. Every test process imports this file first (`scripts/test.mjs`).
 */

import fc from 'fast-check'

// Each mutant runs the properties anew; most mutants that a property kills die by one of its first values.
const limit = process.env.MUTATE === undefined ? {} : { interruptAfterTimeLimit: 500 }

if (process.env.FUZZ === undefined) fc.configureGlobal({ seed: 20261122, ...limit })
