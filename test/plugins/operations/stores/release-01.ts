import type { Redis } from 'ioredis'
import type { Pool } from 'pg'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'

/** What release 0.1 does with the records of form 1; `replace` stores the version after the one that it read. */
export interface Release01 {
  create(record: OperationRecord): Promise<boolean>
  get(id: string): Promise<OperationRecord>
  replace(record: OperationRecord): Promise<boolean>
  due(time: number, limit: number): Promise<readonly string[]>
}

const createScript = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX') then return 0 end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
return 1`

const replaceScript = `
local id, before, document, kind, dueAt = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('SET', KEYS[1], document)
if kind == 'final' then
  redis.call('PEXPIREAT', KEYS[1], dueAt)
  redis.call('ZREM', KEYS[2], id)
else
  redis.call('ZADD', KEYS[2], dueAt, id)
end
return 1
`

/** Sends the commands of release 0.1 to Redis. */
export function release01InRedis(redis: Redis): Release01 {
  const prefix = '{fastify-conventions:operations}'
  const index = `${prefix}:due:1`
  const key = (id: string) => `${prefix}:record:${id}`
  const isDone = (reply: unknown) => Number(reply) === 1
  return {
    create: async (record) =>
      isDone(
        await redis.eval(createScript, 2, key(record.id), index, written(record), record.dueAt, record.id),
      ),
    get: async (id) => read(await redis.get(key(id))),
    async replace(record) {
      const { id, version, dueAt } = record
      const before = `{"version":${version - 1},`
      const kind = record.status === 'In progress' ? 'in progress' : 'final'
      return isDone(
        await redis.eval(replaceScript, 2, key(id), index, id, before, written(record), kind, dueAt),
      )
    },
    async due(time, limit) {
      const ids = await redis.zrangebyscore(index, '-inf', time, 'LIMIT', 0, limit)
      const documents = ids.length === 0 ? [] : await redis.mget(ids.map(key))
      return documents.map((document) => read(document).id)
    },
  }
}

const table = '"fastify_conventions_operations"'

/** The table of release 0.1 in PostgreSQL. */
export const migration01 = `CREATE TABLE IF NOT EXISTS ${table} (
  id text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  form integer NOT NULL,
  is_final boolean NOT NULL,
  due_at bigint,
  document text NOT NULL
);
CREATE INDEX IF NOT EXISTS "fastify_conventions_operations_due" ON ${table} (due_at, id) WHERE NOT is_final;
CREATE INDEX IF NOT EXISTS "fastify_conventions_operations_final" ON ${table} (due_at, id) WHERE is_final;
`

/** Sends the statements of release 0.1 to PostgreSQL. */
export function release01InPostgres(pool: Pool): Release01 {
  const row = (record: OperationRecord) => {
    const { id, version, schema, dueAt, status } = record
    return [id, version, schema, status !== 'In progress', dueAt, JSON.stringify(record)]
  }
  const hasChanged = async (statement: string, values: unknown[]) =>
    (await pool.query(statement, values)).rowCount === 1
  return {
    create: (record) =>
      hasChanged(
        `INSERT INTO ${table} (id, version, form, is_final, due_at, document)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
        row(record),
      ),
    get: async (id) =>
      read((await pool.query(`SELECT document FROM ${table} WHERE id = $1`, [id])).rows[0]?.document),
    replace: (record) =>
      hasChanged(
        `UPDATE ${table} SET version = $2, form = $3, is_final = $4, due_at = $5, document = $6
WHERE id = $1 AND version = $2::bigint - 1`,
        row(record),
      ),
    async due(time, limit) {
      const statement = `SELECT id, document FROM ${table} WHERE NOT is_final AND due_at <= $1 AND form = $3
ORDER BY due_at, id LIMIT $2`
      return (await pool.query(statement, [time, limit, 1])).rows.map(({ document }) => read(document).id)
    },
  }
}

const kinds: Readonly<Record<string, readonly string[]>> = {
  string: ['id', 'name', 'status'],
  number: ['version', 'run', 'dueAt', 'createdAt', 'updatedAt', 'since'],
  boolean: ['cancellable', 'isCancelling'],
}
const orNull = [
  'owner',
  'input',
  'runUntil',
  'progress',
  'finishedAt',
  'goneAt',
  'resource',
  'result',
  'error',
]

/** Reads a record as release 0.1 does: refuses all that is not of form 1, or lacks a member of it. */
function read(document: unknown): OperationRecord {
  if (typeof document !== 'string') throw new Error('release 0.1: no record')
  const record = JSON.parse(document)
  if (record.schema !== 1) throw new Error(`release 0.1: form ${record.schema}`)
  for (const [kind, names] of Object.entries(kinds)) {
    for (const name of names) {
      if (typeof record[name] !== kind) throw new Error(`release 0.1: '${name}' of another kind`)
    }
  }
  for (const name of orNull) if (record[name] === undefined) throw new Error(`release 0.1: no '${name}'`)
  return record
}

function written({ version, ...rest }: OperationRecord): string {
  return JSON.stringify({ version, ...rest })
}
