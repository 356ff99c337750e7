/**
 * Returns a new element.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string>} [attributes]
 * @param {(string | Node)[]} [content]
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, content = []) {
  const node = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value)
  node.append(...content)
  return node
}
