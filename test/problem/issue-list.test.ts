/** What a client can grow is bounded: the issues of a problem, each by itself and all together. */
import t from 'tap'
import { boundedIssues, IssueList, textOfIssues } from '../../src/problem/issue-list.js'
import type { ProblemIssue } from '../../src/problem/problem-error.js'

const issue = (pointer: string, message = 'is wrong'): ProblemIssue => ({ in: 'body', pointer, message })

t.test('issues of ordinary length do not change, up to 50', async (t) => {
  const given = Array.from({ length: 60 }, (_, index) => issue(`/items/${index}/quantity`, 'x'.repeat(100)))
  t.strictSame(boundedIssues(given), given.slice(0, 50))
})

t.test('a long text is cut, and the issue that exceeds the total is the last', async (t) => {
  const long = 'k'.repeat(9_000)
  const given = [issue(`/${long}`), issue('/a', long), issue('/b')]
  const kept = boundedIssues(given)
  t.match(kept, [{ pointer: /^\/k{299}…$/ }, { message: /^k{300}…$/ }])
  t.equal(kept.length, 2)
  t.equal(boundedIssues([issue('k'.repeat(1_000_000))]).length, 1)
})

t.test('a list is full after 50 issues, and ignores more', async (t) => {
  const list = new IssueList()
  t.equal(list.isFull, false)
  for (let index = 0; index < 51; index++) list.add({ in: 'query', name: `n${index}`, message: 'is wrong' })
  t.strictSame([list.isFull, list.issues.length], [true, 50])
})

t.test('in the joined text, each issue has its place in the same style', async (t) => {
  const issues: ProblemIssue[] = [
    issue('/items/0'),
    issue('', 'must be object'),
    { in: 'query', name: 'limit', message: 'must be integer' },
  ]
  t.equal(textOfIssues(issues), 'body/items/0 is wrong, body must be object, query/limit must be integer')
})
