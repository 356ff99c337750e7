/** A client by openapi-typescript and openapi-fetch; `./openapi-typescript.js` is generated from the demo's document. */
import createClient from 'openapi-fetch'
import { ada, type ClientModule, order } from './drive.js'
import type { paths } from './openapi-typescript.js'

export const connect: ClientModule['connect'] = (baseUrl, token) => {
  const headers = { authorization: `Bearer ${token}` }
  const client = createClient<paths, 'application/json' | 'application/problem+json'>({ baseUrl, headers })
  return {
    async createUser(email) {
      const { data, error } = await client.POST('/v1/users', { body: { ...ada, email } })
      if (data !== undefined) return { id: data.id_str }
      if (error.status !== 409) throw new Error('not a conflict')
      // @ts-expect-error: the codes of a status are an enum
      if (error.code === 'already-there') throw new Error('another code')
      return { code: error.code }
    },
    async updateTwice(id) {
      const path = { id }
      const { response } = await client.GET('/v1/users/{id}', { params: { path } })
      const params = { path, header: { 'If-Match': response.headers.get('etag') ?? '' } }
      const { data } = await client.PATCH('/v1/users/{id}', { params, body: { age: 37 } })
      const { error } = await client.PATCH('/v1/users/{id}', { params, body: { age: 38 } })
      if (error?.status !== 412) throw new Error('no precondition')
      return { age: data?.age, code: error.code }
    },
    async createOrder(user_id_str) {
      const { data } = await client.POST('/v1/orders', { body: { ...order, user_id_str } })
      if (data === undefined || !('user_id_str' in data)) throw new Error('no order')
      if (data.user_id_str !== user_id_str) throw new Error('an order of another user')
      return data.id_str
    },
    async verifyEmail(id) {
      const { response } = await client.POST('/v1/users/{id}/verify_email', { params: { path: { id } } })
      return response.headers.get('location')?.split('/').at(-1) ?? ''
    },
    async stateOf(id) {
      return (await client.GET('/v1/operations/{id}/status', { params: { path: { id } } })).data?.status
    },
    async listOrders(user_id, before_id) {
      const query = { user_id, limit: 2, ...(before_id !== undefined && { before_id }) }
      const { data } = await client.GET('/v1/orders', { params: { query } })
      return data?.orders.map(({ id_str }) => id_str ?? '') ?? []
    },
  }
}
