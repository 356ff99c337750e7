import type { FastifyRequest, FastifyTypeProvider, FastifyTypeProviderDefault } from 'fastify'
import type {
  OperationDeclaration,
  OperationDefinition,
  OperationHandle,
  OperationHandler,
} from './define.js'
import type { OperationOwner } from './options.js'
import type { PreparedOperation, RunOptions } from './start.js'
import type { StatusDocument } from './status-document.js'

/** The operations of a context. */
export interface Operations<TypeProvider extends FastifyTypeProvider = FastifyTypeProviderDefault> {
  /**
   * Defines an operation by its name, before the app is ready. The first definition adds the routes of operations. The type
   * provider of the app gives the types of schemas, as it does for routes; those of the type arguments are for schemas without types.
   *
   * @returns a handle, which starts the operation with an input of its type
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED
   */
  define<Input = unknown, Result = unknown>(
    name: string,
    handler: OperationHandler<Input, Result>,
  ): OperationHandle<Input, Result>
  define<
    Input = unknown,
    Result = unknown,
    const InputSchema extends object = object,
    const ResultSchema extends object = object,
  >(
    name: string,
    options: OperationDefinition<InputSchema, ResultSchema>,
    handler: OperationHandler<
      TypeOf<TypeProvider, 'validator', InputSchema, Input>,
      TypeOf<TypeProvider, 'serializer', ResultSchema, Result>
    >,
  ): OperationHandle<
    TypeOf<TypeProvider, 'validator', InputSchema, Input>,
    TypeOf<TypeProvider, 'serializer', ResultSchema, Result>
  >
  /**
   * Declares an operation that another process defines and runs: a process that only serves requests imports no handlers. It needs
   * a shared store and a shared engine.
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED
   */
  declare<
    Input = unknown,
    Result = unknown,
    const InputSchema extends object = object,
    const ResultSchema extends object = object,
  >(
    name: string,
    options?: OperationDeclaration<InputSchema, ResultSchema>,
  ): OperationHandle<
    TypeOf<TypeProvider, 'validator', InputSchema, Input>,
    TypeOf<TypeProvider, 'serializer', ResultSchema, Result>
  >
  /**
   * Starts an operation outside of a request, such as from a schedule.
   * @returns its document
   * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operation-in-progress`, `operations-full`, `operations-unavailable`, `quota-exceeded`, `content-too-large`
   */
  start<Input>(
    operation: string | OperationHandle<Input>,
    input?: Input,
    options?: InternalStartOptions,
  ): Promise<StatusDocument>
  /**
   * Stores an operation in a transaction of the app, so that it starts if and only if the transaction commits. After the commit,
   * pass the result to `reply.startOperation()`; without that, another process finds the operation within the lease.
   *
   * @throws FST_CONV_OPERATION_UNKNOWN; TypeError if the store takes part in no transactions; ProblemError as `start`
   */
  prepare<Input>(
    operation: string | OperationHandle<Input>,
    input: Input,
    options: PrepareOptions,
  ): Promise<PreparedOperation>
  /** Returns the document of an operation of any owner; `null` if there is none, or if its result is deleted. */
  find(id: string): Promise<StatusDocument | null>
  /** Requests the cancellation of an operation of any owner. Returns its document; `null` if there is none. */
  cancel(id: string): Promise<StatusDocument | null>
  /**
   * Begins to run operations of other processes, and those that were left. A server does that by itself when it listens; call it
   * in a process that does not listen. With a store in memory, operations run as soon as the app is ready.
   */
  work(): Promise<void>
}

/** The type that a type provider gives to a schema; `Otherwise` if it gives none, or if there is no schema (`object`). */
type TypeOf<
  TypeProvider extends FastifyTypeProvider,
  Part extends 'validator' | 'serializer',
  Schema extends object,
  Otherwise,
> = object extends Schema
  ? Otherwise
  : (TypeProvider & { readonly schema: Schema })[Part] extends infer Type
    ? unknown extends Type
      ? Otherwise
      : Type
    : never

/** Options of `operations.start()`. */
export interface InternalStartOptions extends RunOptions {
  /**
   * Id of the caller who may see and cancel the operation; `null`: every caller who knows its id.
   * @default no caller
   */
  readonly owner?: OperationOwner
}

/** Options of `operations.prepare()`. */
export interface PrepareOptions extends InternalStartOptions {
  /** The connection of the transaction. */
  readonly connection: object
  /**
   * The request that starts it; its caller is the owner.
   * @default none: an internal operation, unless `owner` is given
   */
  readonly request?: FastifyRequest
}
