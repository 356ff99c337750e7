/**
 * Returns a reader of a private field of Fastify's, which has no public getter, by the description of its symbol.
 *
 * Each copy of Fastify in a process has symbols of its own: one that was found counts only for objects that have it.
 * The field may be inherited. The reader returns `undefined` where there is no such field.
 */
export function privateField<Value>(description: string): (holder: object) => Value | undefined {
  const symbols: symbol[] = []
  return function readPrivateField(holder) {
    for (const symbol of symbols) if (symbol in holder) return Reflect.get(holder, symbol) as Value
    const symbol = symbolOf(holder, description)
    if (symbol === undefined) return undefined
    symbols.push(symbol)
    return Reflect.get(holder, symbol) as Value
  }
}

function symbolOf(holder: object, description: string): symbol | undefined {
  for (let object: object | null = holder; object !== null; object = Object.getPrototypeOf(object)) {
    const symbol = Object.getOwnPropertySymbols(object).find((one) => one.description === description)
    if (symbol !== undefined) return symbol
  }
  return undefined
}
