/** A client by @hey-api/openapi-ts; `./hey-api/` is generated from the demo's document. */
import { ada, type ClientModule, order } from './drive.js'
import { client } from './hey-api/client.gen.js'
import * as api from './hey-api/index.js'

export const connect: ClientModule['connect'] = (origin, token) => {
  client.setConfig({ baseUrl: origin, auth: token })
  return {
    async createUser(email) {
      const { data, error } = await api.createUser({ body: { ...ada, email } })
      if (data !== undefined) return { id: data.id_str }
      if (error.status !== 409) throw new Error('not a conflict')
      // @ts-expect-error: the codes of a status are an enum
      if (error.code === 'already-there') throw new Error('another code')
      return { code: error.code }
    },
    async updateTwice(id) {
      const path = { id }
      const { response } = await api.readUser({ path })
      const headers = { 'If-Match': response?.headers.get('etag') ?? '' }
      const { data } = await api.updateUser({ path, headers, body: { age: 37 } })
      const { error } = await api.updateUser({ path, headers, body: { age: 38 } })
      if (error?.status !== 412) throw new Error('no precondition')
      return { age: data?.age, code: error.code }
    },
    async createOrder(user_id_str) {
      const { data } = await api.createOrder({ body: { ...order, user_id_str } })
      if (data === undefined || !('user_id_str' in data)) throw new Error('no order')
      if (data.user_id_str !== user_id_str) throw new Error('an order of another user')
      return data.id_str
    },
    async verifyEmail(id) {
      const { response } = await api.verifyEmail({ path: { id } })
      return response?.headers.get('location')?.split('/').at(-1) ?? ''
    },
    async stateOf(id) {
      return (await api.readOperationStatus({ path: { id } })).data?.status
    },
    async listOrders(user_id, before_id) {
      const query = { user_id, limit: 2, ...(before_id !== undefined && { before_id }) }
      return (await api.listOrders({ query })).data?.orders.map(({ id_str }) => id_str ?? '') ?? []
    },
  }
}
