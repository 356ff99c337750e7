/**
 * Numbers that stand for integers of which no two may seem equal (`uniqueItems`): neighbours beyond 2^53 are the same
 * Number. The second of them gets the next Number towards zero that is free.
 */
export class DistinctNumbers {
  readonly #numbers = new Map<string, number>()
  // Where to go on looking, so that a long row of neighbours does not take quadratic time.
  readonly #next = new Map<number, number>()

  /** The Number for an integer, given by its digits: the same for the same, another for another. */
  add(digits: string): number {
    const number = this.#numbers.get(digits) ?? this.#free(Number(digits))
    this.#numbers.set(digits, number)
    return number
  }

  /** The Number that stands for an integer, if there is one. */
  get(digits: string): number | undefined {
    return this.#numbers.get(digits)
  }

  #free(from: number): number {
    const passed: number[] = []
    let number = from
    for (let next = this.#next.get(number); next !== undefined; next = this.#next.get(number)) {
      passed.push(number)
      number = next
    }
    const after = towardsZero(number)
    for (const one of [...passed, number]) this.#next.set(one, after)
    return number
  }
}

const double = new Float64Array(1)
const bits = new BigUint64Array(double.buffer)

function towardsZero(number: number): number {
  if (Math.abs(number) <= 2 ** 53) return number - Math.sign(number)
  double[0] = number
  bits[0] = (bits[0] ?? 0n) - 1n
  return double[0] ?? number
}
