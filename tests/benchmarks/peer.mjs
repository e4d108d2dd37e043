// One piece of work for the released JavaScript package, in a process of its own: what
// `tests/benchmarks/ours.py` does, done there. Only what the package exports is called.
//
// The file is copied into the directory where the package is installed, because an import is looked up
// from the place of the file that has it. Usage: node --expose-gc peer.mjs WORK PARAMETERS (as JSON)

import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

import './loans.mjs'

const { createAtScheduleRecord, decodeScheduleChange, foldScheduleEvents } = await import(
  '@deepseek-ai/dsh-schedule'
)

const CHANGE = 'schedule/change'
const CHUNK_BYTES = 1024 * 1024

async function time(work) {
  const start = performance.now()
  const value = await work()
  return [performance.now() - start, value]
}

const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex')
const tell = ({ active, seenIds }) => ({
  active: active.length,
  seen: seenIds.length,
  digest: digest({ active, seenIds }),
})

// The lines of a file, a chunk in memory at a time.
function* readLines(path) {
  const file = openSync(path, 'r')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let rest = Buffer.alloc(0)
  for (let length; (length = readSync(file, chunk)) > 0; ) {
    const part = Buffer.concat([rest, chunk.subarray(0, length)])
    let start = 0
    for (let end; (end = part.indexOf(10, start)) >= 0; start = end + 1) {
      yield part.toString('utf8', start, end)
    }
    rest = part.subarray(start)
  }
  closeSync(file)
}

const parseFile = (path) => Array.from(readLines(path), (row) => JSON.parse(row))

function readBytes({ path }) {
  return time(() => {
    const file = openSync(path, 'r')
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    let bytes = 0
    for (let length; (length = readSync(file, chunk)) > 0; ) bytes += length
    closeSync(file)
    return { bytes }
  })
}

function cutLines({ path }) {
  return time(() => {
    let lines = 0
    for (const _ of readLines(path)) lines++
    return { lines }
  })
}

function parseLines({ path }) {
  return time(() => {
    let changes = 0
    for (const row of readLines(path)) if (JSON.parse(row).type === CHANGE) changes++
    return { changes }
  })
}

async function foldJournal({ path }) {
  const [ms, folded] = await time(() => {
    const changes = []
    for (const row of readLines(path)) {
      const event = JSON.parse(row)
      if (event.type === CHANGE) changes.push(event)
    }
    return foldScheduleEvents(changes)
  })
  return [ms, tell(folded)]
}

// The package's own store finds the journal under its root, by the session's id.
async function openJournal({ root, id, compression }) {
  const { Context } = await import('@deepseek-ai/cordis')
  const { SessionStore } = await import('@deepseek-ai/dsh-session')
  const { JsonlSessionPersistence } = await import('@deepseek-ai/dsh-session-persistence-jsonl')
  const context = new Context()
  await context.plugin(SessionStore)
  await context.plugin(JsonlSessionPersistence, { root, compression })
  const [ms, folded] = await time(async () => {
    const { meta, events } = await context.sessionPersistence.readFrom(id, 0)
    return foldScheduleEvents(events, meta.seedLength ?? 0)
  })
  await context.fiber.dispose()
  return [ms, tell(folded)]
}

async function foldLines({ path }) {
  const content = readFileSync(path)
  const [ms, folded] = await time(() => {
    const rows = content.toString('utf8').trimEnd().split('\n')
    return foldScheduleEvents(rows.map((row) => JSON.parse(row)))
  })
  return [ms, tell(folded)]
}

async function foldDicts({ path }) {
  const events = parseFile(path)
  const [ms, folded] = await time(() => foldScheduleEvents(events))
  return [ms, tell(folded)]
}

function decodeDicts({ path }) {
  const data = parseFile(path).map((event) => event.data)
  return time(() => {
    const counts = { create: 0, delete: 0, dispatch: 0 }
    for (const change of data.map(decodeScheduleChange)) counts[change.operation]++
    return counts
  })
}

async function resolveLocalTimes({ path, now_ms: now }) {
  const times = parseFile(path)
  const [ms, found] = await time(() =>
    times.map((at) => {
      try {
        return createAtScheduleRecord('schedule-1', 'x', at, now).scheduledAt
      } catch (error) {
        return error.code
      }
    }),
  )
  const refused = found.filter((answer) => !answer.endsWith('Z')).length
  return [ms, { answers: found.length, refused, digest: digest(found) }]
}

const findNext = (active) => {
  let next = null // canonical texts of instants sort as the instants do
  for (const { scheduledAt } of active) if (next === null || scheduledAt < next) next = scheduledAt
  return next
}

// One more event is appended and folded, and the earliest target looked for, as often as there are steps.
async function liveOn({ path, spread, compared, peer_steps: steps }) {
  const events = spreadOut(parseFile(path), spread)
  const coming = events.splice(-steps * spread).filter((event) => event.type === CHANGE)
  let folded = foldScheduleEvents(events)
  const [ms, wakes] = await time(() =>
    coming.map((event) => {
      events.push(event)
      folded = foldScheduleEvents(events)
      return findNext(folded.active)
    }),
  )
  return [(1000 * ms) / steps, { ...tell(folded), wakes: wakes.slice(-compared) }]
}

// Every change behind others that do not count, as in a log of a whole session.
function spreadOut(changes, spread) {
  const other = Array.from({ length: spread - 1 }, () => ({ type: 'todo/write', seq: 0, time: 0, data: {} }))
  return spread === 1 ? changes : changes.flatMap((change) => [...other, change])
}

// What the folded state takes, when all that it was made of has gone: bytes of live heap for each record.
function holdActive({ path }) {
  gc()
  const before = process.memoryUsage().heapUsed
  const folded = foldScheduleEvents(parseFile(path))
  gc()
  const bytes = process.memoryUsage().heapUsed - before
  return [bytes / folded.active.length, tell(folded)]
}

const works = {
  cut_lines: cutLines,
  decode_dicts: decodeDicts,
  fold_dicts: foldDicts,
  fold_journal: foldJournal,
  fold_lines: foldLines,
  hold_active: holdActive,
  live_on: liveOn,
  open_journal: openJournal,
  parse_lines: parseLines,
  read_bytes: readBytes,
  resolve_local_times: resolveLocalTimes,
}

const [, , name, parameters] = process.argv
const [value, result] = await works[name](JSON.parse(parameters))
const peak = /VmHWM:\s+(\d+)/.exec(readStatus())
process.stdout.write(JSON.stringify({ value, result, peak_kib: peak === null ? null : Number(peak[1]) }))

function readStatus() {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch {
    return ''
  }
}
