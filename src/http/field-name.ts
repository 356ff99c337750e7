import { type Check, text } from '../options.js'

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export function isFieldName(text: string): boolean {
  return token.test(text)
}

export const fieldName: Check<string> = text('the name of a header field', token)

/** Header fields of a request, by their names in lowercase. */
export type RequestFields = Readonly<Record<string, string | readonly string[] | undefined>>
