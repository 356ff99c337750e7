const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Can this be the name of a header field: a token (RFC 9110 §5.1, §5.6.2)? */
export function isFieldName(text: string): boolean {
  return token.test(text)
}
