import xxHash from 'xxhash-wasm'

/** Characters or bytes. WebAssembly keeps the memory of the longest content that it has hashed at once. */
const longestAtOnce = 262_144

let hashes: Awaited<ReturnType<typeof xxHash>> | null = null

/** Loads the hash function, which has to be there before {@link byteTag} is called. */
export async function loadHash(): Promise<void> {
  hashes ??= await xxHash()
}

/** Returns a strong entity tag of bytes, the same in all processes: their XXH64, which takes a fifth of the time of SHA-1. */
export function byteTag(bytes: string | Uint8Array): string {
  if (hashes === null) throw new Error('the hash function is not loaded yet')
  const hash =
    bytes.length > longestAtOnce
      ? hashInParts(hashes.create64(), Buffer.from(bytes as Uint8Array))
      : typeof bytes === 'string'
        ? hashes.h64(bytes)
        : hashes.h64Raw(bytes)
  return `"${hash.toString(36)}"`
}

function hashInParts(hash: ReturnType<NonNullable<typeof hashes>['create64']>, bytes: Buffer): bigint {
  for (let start = 0; start < bytes.length; start += longestAtOnce) {
    hash.update(bytes.subarray(start, start + longestAtOnce))
  }
  return hash.digest()
}
