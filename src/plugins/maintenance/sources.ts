import type { FastifyBaseLogger } from 'fastify'
import { claimOf } from './current-maintenance.js'
import { readMaintenanceFile } from './file.js'
import type { ReadNotice } from './notice.js'
import type { MaintenanceOptions } from './options.js'
import { Poller } from './poller.js'
import type { Maintenance } from './state.js'
import type { MaintenanceSwitch, StoredNotice } from './switch.js'

type Pace = Pick<Required<MaintenanceOptions>, 'pollInterval' | 'schedule'>

/** Looks whether a file announces maintenance, and tells the log once of what is wrong with it. */
export function filePoller(
  path: string,
  maintenance: Maintenance,
  { pollInterval: interval, schedule }: Pace,
  log: FastifyBaseLogger,
): Poller<ReadNotice | null> {
  const tellFault = faultTeller(log, 'file')
  return new Poller({
    read: () => readMaintenanceFile(path),
    take(read) {
      maintenance.say('file', read === null ? null : claimOf('file', read.notice))
      tellFault(read?.fault ?? null)
    },
    ...reachability(log, 'file'),
    interval,
    schedule,
  })
}

/** Looks what a store says, and tells the log once of what is wrong with it. */
export function storePoller(
  enabled: MaintenanceSwitch,
  { pollInterval: interval, schedule }: Pace,
  log: FastifyBaseLogger,
): Poller<StoredNotice> {
  const tellFault = faultTeller(log, 'store')
  return new Poller({
    read: () => enabled.read(),
    take: (stored) => tellFault(enabled.take(stored)),
    ...reachability(log, 'store'),
    interval,
    schedule,
  })
}

function reachability(log: FastifyBaseLogger, source: string) {
  return {
    lost: (err: unknown) =>
      log.error({ err }, `maintenance: the ${source} cannot be reached; what it said last holds`),
    found: () => log.info(`maintenance: the ${source} is reached again`),
  }
}

function faultTeller(log: FastifyBaseLogger, source: string): (fault: string | null) => void {
  let told: string | null = null
  return (fault) => {
    if (fault !== null && fault !== told)
      log.warn(`maintenance: of what the ${source} says not all counts: ${fault}`)
    told = fault
  }
}
