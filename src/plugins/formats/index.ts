import type { FastifyPluginAsync } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { closingIfFails } from '../../convention/failed-boot.js'
import {
  declaresParameter,
  type Format,
  negotiates,
  otherFormats,
  ownParameters,
} from '../../convention/selection.js'
import { type Check, invalid, listOf, type OptionsOf, oneOf, option, optional, text } from '../../options.js'
import { modeOption, routeMode } from '../../report/modes.js'
import { producedTypes, queryOf } from '../../schema/responses.js'
import { chooseFormat, type ResponseWriter, type RouteFormats, responseWriter, writeFormat } from './hooks.js'
import { describeChoice, documentFormats, type Libraries, loadLibraries } from './writers.js'

export type { Format } from '../../convention/selection.js'

const produces: Check<readonly Format[]> = (label, received) => {
  const formats = listOf(oneOf(...otherFormats))(label, received)
  return new Set(formats).size === formats.length ? formats : invalid(label, 'each format once', received)
}

const formatsOptions = {
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

const formatsRouteOptions = {
  ...routeMode,
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Formats of the responses of this route besides JSON, as an array or with options; `false` for none. */
    formats?: readonly Format[] | FormatsRouteOptions | false
  }
}

/**
 * XML and CSV beside JSON, on routes that opt in with `config.formats`. The query parameter `format` has precedence over
 * `Accept`, and `Accept` decides without it (RFC 9110 §12.5.1). Both formats are made of the JSON of the response, so they
 * have the selected fields, the twins and all digits of numbers. Each format has entity tags of its own. Errors stay
 * problem documents.
 *
 * XML needs the package `fast-xml-parser`, CSV needs `csv-stringify`. They are loaded when the app gets ready, if a route
 * needs them.
 *
 * Not for large exports: the JSON of the whole response is in memory.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS, FST_CONV_PACKAGE_MISSING when the app gets ready
 */
export const formats: FastifyPluginAsync<FormatsOptions & RegistrationOptions> = convention({
  name: 'formats',
  rules: ['parameter', 'csv', 'method'],
  arrayOption: 'produces',
  options: formatsOptions,
  routeOptions: formatsRouteOptions,
  setUp({ app, addFinding }) {
    const libraries: Partial<Libraries> = {}
    const needed = new Set<Format>()
    app.addHook('onReady', () => closingIfFails(app, () => loadLibraries(libraries, needed)))
    return { libraries, needed, find: addFinding }
  },
  route({ app, name, methods, route, options, state, atReady, addFinding }) {
    const { produces = [], parameter, mode } = options
    if (route === null || produces.length === 0 || mode === 'off') return undefined
    const { libraries, needed, find } = state
    if (methods.join() === 'DELETE' && producedTypes(route.schema?.response) === null) {
      const problem = 'config.formats on DELETE, whose schema has no response with content'
      const instead = 'no config.formats, or a response schema of 200'
      find({ rule: 'method', route: name, mode: 'report', problem, instead }, 'none')
    }
    let prepared: ResponseWriter | undefined
    const writer = (): ResponseWriter => {
      prepared ??= responseWriter(app, route, options, libraries)
      return prepared
    }
    atReady(function findFaults() {
      const { fault } = writer()
      if (fault !== null) addFinding('csv', fault.problem, fault.instead)
      if (!declaresParameter(app, queryOf(route.schema), parameter)) return
      const problem = `the query parameter '${parameter}' is declared by the route, and selects the format`
      addFinding('parameter', problem, "formats: { parameter: '…' } with another name")
    })
    const formats: RouteFormats = { produces, parameter, writer }
    if (mode === 'report') return { preValidation: chooseFormat(formats) }
    for (const format of produces) needed.add(format)
    negotiates.set(route, true)
    return {
      preValidation: chooseFormat(formats, ownParameters(app, route, [parameter]).take),
      onSend: writeFormat(formats),
      describe: describeChoice(produces),
      document: documentFormats(parameter, produces, () => writer().root),
    }
  },
})
