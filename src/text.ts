/** A text cut to a length, with an ellipsis where something was cut. */
export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}
