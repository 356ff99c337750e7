class Point {
  readonly x = 1
  readonly y = 'two'

  get z(): number {
    return 3
  }
}

class Hex {
  toJSON(): string {
    return '65f1a2'
  }

  toString(): string {
    return 'hex'
  }
}

/** Values that no handler should give, made afresh each time: a writer that changes one must not be hidden by the next. */
function hostileValues(): unknown[] {
  return [
    ...[null, undefined, true, 0, -0, 1.5, 1e21, 2 ** 53, Number.NaN, Infinity, -Infinity],
    ...['', '12', '00123', 'no', 'lone \ud800 surrogate "', 'long '.repeat(1_200), '2026-11-20T08:00:00Z'],
    ...['ada@example.org', [], [1], ['a', undefined], Object.assign([], { 1: 'a', length: 3 }), [[null]]],
    ...[{}, { secret: 1 }, { a: 'a', b: 2, id: 3, name: null }, Object.create(null)],
    ...[Object.assign(Object.create(null), { a: 'a', id: 1 }), Object.create({ a: 'inherited' })],
    ...[new Point(), new Hex(), new Date(0), new Date(Number.NaN), /source"/, new Map([['a', 1]])],
    ...[new Set(['a']), Buffer.from('a'), new Uint8Array([1, 2]), new Number(5), new String('boxed')],
    ...[new Boolean(false), { toJSON: () => ({ a: 'made', id: 1 }) }, { toJSON: () => null }],
    ...[{ toJSON: () => 'text' }, { toString: () => 'own' }, { valueOf: () => 5 }],
    ...[withGetter(() => 'from a getter'), withGetter(fail)],
    ...[
      Symbol('symbol'),
      () => 'function',
      new Error('an error'),
      Promise.resolve(1),
      new Proxy({ a: 1 }, {}),
    ],
  ]
}

function withGetter(get: () => unknown): object {
  return Object.defineProperty({}, 'a', { enumerable: true, get })
}

function fail(): never {
  throw new Error('a getter that throws')
}

/** Replaces parts of a value, each with a chance of one in `rarity`, by hostile ones; `choices` decides. */
export function spoiledBy(value: unknown, rarity: number, choices: readonly number[]): unknown {
  let at = 0
  const next = (): number => choices[at++ % choices.length] ?? 0
  const spoil = (part: unknown, depth: number): unknown => {
    if (next() % rarity === 0) {
      const values = hostileValues()
      return values[next() % values.length]
    }
    if (depth > 8 || typeof part !== 'object' || part === null || part instanceof Date) return part
    if (Array.isArray(part)) return part.map((item) => spoil(item, depth + 1))
    const entries = Object.entries(part).map(([key, one]) => [key, spoil(one, depth + 1)])
    return Object.fromEntries(entries)
  }
  return spoil(value, 0)
}
