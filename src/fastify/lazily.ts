/** Returns a function that is made at its first call. */
export function lazily<Parameters extends readonly unknown[]>(
  make: () => (...parameters: Parameters) => string,
): (...parameters: Parameters) => string {
  let made: ((...parameters: Parameters) => string) | undefined
  return (...parameters) => {
    made ??= make()
    return made(...parameters)
  }
}
