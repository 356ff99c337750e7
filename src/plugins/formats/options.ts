import { type Format, otherFormats } from '../../fastify/formats.js'
import {
  type Check,
  flag,
  invalid,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../rules/modes.js'
import { isXmlName } from './xml-writer.js'

export type { Format } from '../../fastify/formats.js'

const formulas = oneOf('escape', 'keep')

const produces: Check<readonly Format[]> = (label, received) => {
  const formats = listOf(oneOf(...otherFormats))(label, received)
  return new Set(formats).size === formats.length ? formats : invalid(label, 'each format once', received)
}

const xmlName: Check<string> = (label, received) =>
  typeof received === 'string' && isXmlName(received)
    ? received
    : invalid(label, 'the name of an XML element without a prefix', received)

export const formatsOptions = {
  /**
   * `enforce` serves the formats. `report` changes nothing and counts the requests that would get another format, or a
   * 406. `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Name of the query parameter that selects the format; it has precedence over `Accept`.
   * @default 'format'
   */
  parameter: option(text('a name such as format', /^[A-Za-z][\w.-]*$/), 'format'),
  /**
   * Texts in CSV that a spreadsheet would take for a formula, because they begin with `=`, `+`, `-`, `@`, a tab or a line
   * break, and are not numbers: `escape` puts an apostrophe before them (OWASP, "CSV Injection"), `keep` leaves them. Use
   * `keep` only if no spreadsheet opens the file: with `escape`, a program that reads the file has to remove the apostrophe.
   * @default 'escape'
   */
  formulas: option(formulas, 'escape'),
}

export const formatsRouteOptions = {
  /**
   * See {@link FormatsOptions.mode}.
   * @default that of the plugin
   */
  mode: routeModeOption,
  /**
   * Formats of the responses besides JSON, in the order of preference where `Accept` has none. `csv` is for lists.
   * @default []
   */
  produces: optional(produces),
  /**
   * Whether request bodies may be XML. Needs a body schema that says of each value whether it is an object, an array, a
   * text, a number or a boolean, because XML does not.
   * @default false
   */
  body: optional(flag),
  /**
   * Name of the root element in XML.
   * @default the `title` of the response schema if it can be a name, else the singular of the last word of the path
   * (`/v1/users/:id`: `user`), or `response` for a list
   */
  root: optional(xmlName),
  /**
   * Member of the response that has the items, for CSV.
   * @default the member of `config.lists`, else the array that is named like the path, else the only array
   */
  list: optional(text()),
  /**
   * See {@link FormatsOptions.formulas}.
   * @default that of the plugin
   */
  formulas: optional(formulas),
}

/** Options of {@link formats}. */
export interface FormatsOptions extends OptionsOf<typeof formatsOptions> {}

/** Options of a route, under `config.formats`; an array is short for `{ produces: [...] }`. */
export interface FormatsRouteOptions extends OptionsOf<typeof formatsRouteOptions> {}

/** The options of a route, with those of the plugin. */
export type ResolvedFormats = ResolvedOptions<typeof formatsOptions> & OptionsOf<typeof formatsRouteOptions>
