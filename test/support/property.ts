import fc from 'fast-check'

type Values = [unknown, ...unknown[]]
type Given<All extends Values> = [
  ...arbitraries: { [At in keyof All]: fc.Arbitrary<All[At]> },
  holds: ((...values: All) => boolean) | ((...values: All) => void),
]

/** Asserts that something holds for all values. */
export function forAll<All extends Values>(...given: Given<All>): void {
  fc.assert(fc.property(...given))
}

/** {@link forAll}, in another number of runs than 100. */
export function inRuns<All extends Values>(numRuns: number, ...given: Given<All>): void {
  fc.assert(fc.property(...given), { numRuns })
}
