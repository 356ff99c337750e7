/** What the test asks of a generated client, in the client's own types. */
export interface Client {
  /** Returns the id with all digits, or the code of the conflict. */
  createUser(email: string): Promise<{ readonly id?: string; readonly code?: string }>
  /** Changes the age of the version that it has read, and again: returns the age, and the code of the refusal. */
  updateTwice(id: string): Promise<{ readonly age: number | undefined; readonly code: string }>
  /** Returns the id of an order of a user whose id a Number cannot hold. */
  createOrder(user_id_str: string): Promise<string>
  /** Returns the id of the operation. */
  verifyEmail(id: string): Promise<string>
  stateOf(operation: string): Promise<'In progress' | 'Succeeded' | 'Failed' | undefined>
  /** Returns the ids of one page of orders. */
  listOrders(user_id: string, before_id: string | undefined): Promise<readonly string[]>
}

/** A module of this folder. */
export interface ClientModule {
  connect(origin: string, token: string): Client
}

/** @public The clients import it; they are compiled beside what is generated. */
export const ada = { name: 'Ada Lovelace', age: 36, gender: 'female' } as const

/** @public */
export const order = {
  total_amount: 1290,
  currency: 'EUR',
  items: [{ sku: 'mug', quantity: 1, unit_amount: 1290 }],
}
