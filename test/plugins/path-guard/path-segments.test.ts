/** What segments are meant to be, and which one is the version: seed §4, §9. */
import t from 'tap'
import { readSegments, readVersion } from '../../../src/plugins/path-guard/path-segments.js'

t.test('a parameter in another notation is read as one', async (t) => {
  const rows: readonly (readonly [text: string, kind: string, ...parts: string[]])[] = [
    ['{id}', 'parameter', '{id}'],
    ['<userId>', 'parameter', '<userId>'],
    ['{id}.json', 'mixed', '{id}', '.json'],
    ['user-{id}', 'mixed', 'user-', '{id}'],
    ['{lat}-{lng}', 'mixed', '{lat}', '-', '{lng}'],
    ['{id}x', 'literal', '{id}x'],
    ['{}', 'literal', '{}'],
    ['{a b}', 'literal', '{a b}'],
    [':id', 'parameter', ':id'],
    [':id.json', 'mixed', ':id', '.json'],
    ['backup-*', 'wildcard', 'backup-', '*'],
    ['users', 'literal', 'users'],
  ]
  for (const [text, kind, ...parts] of rows) {
    const [read] = readSegments(`/${text}`)
    t.equal(read?.kind, kind, text)
    t.same(
      read?.parts.map((part) => part.text),
      parts,
      text,
    )
  }
})

t.test('a literal without a letter and without a digit says nothing', async (t) => {
  for (const text of ['', '_', '-', '~', '%20', '...', '%', "'"]) {
    t.equal(readSegments(`/${text}`)[0]?.isBlank, true, `'${text}'`)
  }
  for (const text of ['a', '1', ':id', '*', '{id}', '日本', '%41']) {
    t.equal(readSegments(`/${text}`)[0]?.isBlank, false, text)
  }
})

t.test(
  'the version is in front and v and a number (seed §9), or is taken from what is meant as one',
  async (t) => {
    const rows: readonly (readonly [path: string, major: string, at: number | null, isRight: boolean])[] = [
      ['/v1/users', '1', 0, true],
      ['/v0', '0', 0, true],
      ['/v123/users', '123', 0, true],
      ['/V2/users', '2', 0, true],
      ['/v01/users', '1', 0, false],
      ['/v1.0/users', '1', 0, false],
      ['/v1_2/users', '1', 0, false],
      ['/v2beta1/users', '2', 0, false],
      ['/v2-rc.1/users', '2', 0, false],
      ['/version-3/users', '3', 0, false],
      ['/ver4/users', '4', 0, false],
      ['/1/users', '1', 0, false],
      ['/02.5/users', '2', 0, false],
      ['/users/v2', '2', 1, false],
      ['/:tenant/v1/users', '1', 1, false],
      ['/users/1', '1', null, false],
      ['/404', '1', null, false],
      ['/2024/reports', '1', null, false],
      ['/versions', '1', null, false],
      ['/vat/1', '1', null, false],
      ['/:v1', '1', null, false],
    ]
    for (const [path, major, at, isRight] of rows) {
      const segments = readSegments(path)
      t.same(readVersion(segments), { major, read: at === null ? null : segments[at], isRight }, path)
    }
    t.same(readVersion([]), { major: '1', read: null, isRight: false })
  },
)
