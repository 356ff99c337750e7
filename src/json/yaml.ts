/** Returns JSON data as YAML 1.2 in block style, with texts as in JSON. */
export function yamlOf(data: unknown): string {
  return blockOf(JSON.parse(JSON.stringify(data)), '')
}

function blockOf(value: unknown, indent: string): string {
  return partsOf(value)
    .map(([head, one]) =>
      partsOf(one).length > 0
        ? `${indent}${head}\n${blockOf(one, `${indent}  `)}`
        : `${indent}${head} ${JSON.stringify(one)}\n`,
    )
    .join('')
}

function partsOf(value: unknown): [head: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.map((one) => ['-', one])
  return Object.entries(value).map(([name, one]) => [`${keyOf(name)}:`, one])
}

function keyOf(name: string): string {
  return /^[a-z][\w-]*$/i.test(name) && !notText.test(name) ? name : JSON.stringify(name)
}

// In YAML 1.1, too.
const notText = /^(?:true|false|null|yes|no|on|off|y|n)$/i
