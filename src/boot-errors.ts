import createError, { type FastifyErrorConstructor } from '@fastify/error'

const messages = {
  FST_CONV_OPTION_INVALID: '%s: expected %s, received %s',
  FST_CONV_OPTION_UNKNOWN: '%s: there is no such option; expected one of %s',
  FST_CONV_ALREADY_REGISTERED:
    '%s is already registered in this context or in one above it; for single routes, use `config`',
  FST_CONV_LOADED_LATE:
    '%s cannot see the routes that were declared before fastify-conventions was loaded: import it before the first route',
  FST_CONV_NOT_A_LIST:
    '%s is not a list: declare it with `config: { lists: {} }`, after `await app.register(lists)`',
  FST_CONV_OPERATION_DEFINED: "the operation '%s' is already defined",
  FST_CONV_OPERATION_UNKNOWN: "there is no operation '%s'; the defined operations are: %s",
  FST_CONV_PACKAGE_MISSING: '%s needs a package that is not installed: npm install %s',
  FST_CONV_DEVELOPMENT_ONLY: '%s is for development only, and NODE_ENV is production: remove it here',
  FST_CONV_FINDINGS: '%s',
} as const

type Messages = typeof messages

type Texts<Message extends string> = Message extends `${string}%s${infer Rest}`
  ? [string, ...Texts<Rest>]
  : []

/** Errors that a programming mistake causes while the app boots. Their `code` has the prefix `FST_CONV_`. */
export const bootErrors = Object.freeze(
  Object.fromEntries(
    Object.entries(messages).map(([code, message]) => {
      const isOfOption = code.startsWith('FST_CONV_OPTION')
      const BootError = createError<string[]>(code, message, 500, isOfOption ? TypeError : Error)
      // Node.js prints it above the message. The build shortens the names of functions.
      return [code, Object.defineProperty(BootError, 'name', { value: 'FastifyError' })]
    }),
  ) as unknown as {
    [Code in keyof Messages]: FastifyErrorConstructor<{ code: Code; statusCode: 500 }, Texts<Messages[Code]>>
  },
)
