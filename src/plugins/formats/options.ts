import { type Format, otherFormats } from '../../convention/formats.js'
import { type Check, invalid, listOf, type OptionsOf, oneOf, option, optional, text } from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'

export type { Format } from '../../convention/formats.js'

const produces: Check<readonly Format[]> = (label, received) => {
  const formats = listOf(oneOf(...otherFormats))(label, received)
  return new Set(formats).size === formats.length ? formats : invalid(label, 'each format once', received)
}

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
   * `keep` only if no spreadsheet opens the files: with `escape`, a program that reads a file has to remove the apostrophe.
   * @default 'escape'
   */
  formulas: option(oneOf('escape', 'keep'), 'escape'),
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
}

/** Options of {@link formats}. */
export interface FormatsOptions extends OptionsOf<typeof formatsOptions> {}

/** Options of a route, under `config.formats`; an array is short for `{ produces: [...] }`. */
export interface FormatsRouteOptions extends OptionsOf<typeof formatsRouteOptions> {}

/** The options of a route, with those of the plugin. */
