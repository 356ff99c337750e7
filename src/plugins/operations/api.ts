import type { FastifyRequest } from 'fastify'
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
export interface Operations {
  /**
   * Defines an operation by its name, before the app is ready. The first definition adds the routes of operations.
   *
   * @returns a handle, which starts the operation with an input of its type
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED
   */
  define<Input = unknown, Result = unknown>(
    name: string,
    handler: OperationHandler<Input, Result>,
  ): OperationHandle<Input>
  define<Input = unknown, Result = unknown>(
    name: string,
    options: OperationDefinition,
    handler: OperationHandler<Input, Result>,
  ): OperationHandle<Input>
  /**
   * Declares an operation that another process defines and runs: a process that only serves requests imports no handlers. It needs
   * a shared store and a shared engine.
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED
   */
  declare<Input = unknown>(name: string, options?: OperationDeclaration): OperationHandle<Input>
  /**
   * Starts an operation outside of a request, such as from a schedule.
   * @returns its document
   * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operations-full`, `operations-unavailable`, `quota-exceeded`, `content-too-large`
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
