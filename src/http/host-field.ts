// RFC 3986 §3.2.2, §3.2.3: an IP literal, an IPv4 address or a registered name, which may be empty; then a port.
const shape =
  /^(?:\[[0-9A-Fa-f:.]+\]|\[v[0-9A-Fa-f]+\.[\w\-.~!$&'()*+,;=:]+\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/

/** Whether a text can be the value of `Host` (RFC 9112 §3.2): a host, with or without a port, and no user. */
export function isHostValue(text: string): boolean {
  return shape.test(text)
}
