/** A text cut to a length, with an ellipsis where something was cut; never in the middle of a character. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text
  const splitsPair = /[\ud800-\udbff]/.test(text.charAt(length - 1))
  return `${text.slice(0, splitsPair ? length - 1 : length)}…`
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export function groupsOf<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
): Map<string, [Item, ...Item[]]> {
  const groups = new Map<string, [Item, ...Item[]]>()
  for (const item of items) {
    const group = groups.get(textOf(item))
    if (group === undefined) groups.set(textOf(item), [item])
    else group.push(item)
  }
  return groups
}
