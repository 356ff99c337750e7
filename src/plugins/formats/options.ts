import { type Format, otherFormats } from '../../fastify/formats.js'
import { type Check, type Checks, flag, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import type { Formulas } from './csv-writer.js'
import { isXmlName } from './xml-writer.js'

export type { Format } from '../../fastify/formats.js'

/** Options of {@link formats}. */
export interface FormatsOptions {
  /**
   * `enforce` serves the formats. `report` changes nothing and counts the requests that would get another format, or a
   * 406. `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Name of the query parameter that selects the format; it has precedence over `Accept`.
   * @default 'format'
   */
  readonly parameter?: string
  /**
   * Texts in CSV that a spreadsheet would take for a formula, because they begin with `=`, `+`, `-`, `@`, a tab or a line
   * break, and are not numbers: `escape` puts an apostrophe before them (OWASP, "CSV Injection"), `keep` leaves them. Use
   * `keep` only if no spreadsheet opens the file: with `escape`, a program that reads the file has to remove the apostrophe.
   * @default 'escape'
   */
  readonly formulas?: 'escape' | 'keep'
}

/** Options of a route, under `config.formats`; an array is short for `{ produces: [...] }`. */
export interface FormatsRouteOptions {
  /**
   * See {@link FormatsOptions.mode}.
   * @default that of the plugin
   */
  readonly mode?: Mode
  /**
   * Formats of the responses besides JSON, in the order of preference where `Accept` has none. `csv` is for lists.
   * @default []
   */
  readonly produces?: readonly Format[]
  /**
   * Whether request bodies may be XML. Needs a body schema that says of each value whether it is an object, an array, a
   * text, a number or a boolean, because XML does not.
   * @default false
   */
  readonly body?: boolean
  /**
   * Name of the root element in XML.
   * @default the `title` of the response schema if it can be a name, else the singular of the last word of the path
   * (`/v1/users/:id`: `user`), or `response` for a list
   */
  readonly root?: string
  /**
   * Member of the response that has the items, for CSV.
   * @default the member of `config.lists`, else the array that is named like the path, else the only array
   */
  readonly list?: string
  /**
   * See {@link FormatsOptions.formulas}.
   * @default that of the plugin
   */
  readonly formulas?: 'escape' | 'keep'
}

/** The options of a route, with those of the plugin. */
export interface ResolvedFormats extends FormatsRouteOptions {
  readonly mode: Mode
  readonly produces: readonly Format[]
  readonly body: boolean
  readonly formulas: Formulas
}

/** Checks of {@link FormatsOptions}. */
export const formatsChecks: Checks<FormatsOptions> = {
  mode: oneOf(...modes),
  parameter: text('a name such as format', /^[A-Za-z][\w.-]*$/),
  formulas: oneOf('escape', 'keep'),
}

const produces: Check<readonly Format[]> = (label, received) => {
  const formats = listOf(oneOf(...otherFormats))(label, received)
  return new Set(formats).size === formats.length ? formats : invalid(label, 'each format once', received)
}

/** Checks of {@link FormatsRouteOptions}. */
export const formatsRouteChecks: Checks<FormatsRouteOptions> = {
  mode: formatsChecks.mode,
  produces,
  body: flag,
  root: (label, received) =>
    typeof received === 'string' && isXmlName(received)
      ? received
      : invalid(label, 'the name of an XML element without a prefix', received),
  list: text(),
  formulas: formatsChecks.formulas,
}

/** Defaults of {@link FormatsOptions}. */
export const formatsDefaults: Required<FormatsOptions> = {
  mode: 'enforce',
  parameter: 'format',
  formulas: 'escape',
}
