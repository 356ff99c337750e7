/**
 * The root of tap in a process that several files share (`scripts/test.mjs`). Once the root has a teardown, tap ends the run
 * as soon as no test is running, such as while a file waits for a server before its first test.
 */
import tap from 'tap'

tap.teardown = () => {
  throw new Error('in a process that files share, the root has no teardown: use that of a test')
}
