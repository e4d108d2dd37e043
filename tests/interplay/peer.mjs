// The released JavaScript packages, asked by tests/test_interplay.py: one request a line on standard
// input, one answer a line on standard output, in order, until the input ends.
//
// Only what the packages export is used. The file is copied into the directory where they are
// installed, because an import is looked up from the place of the file that has it.
// Usage: node peer.mjs PYTHON   (an interpreter with `zstandard`; see zstd_on_loan.mjs)

import { createInterface } from 'node:readline'

import { nativeZstd } from './loans.mjs'

// Imported only now: a static import would be linked before the loans are made.
const { Context } = await import('@deepseek-ai/cordis')
const schedule = await import('@deepseek-ai/dsh-schedule')
const { SessionStore } = await import('@deepseek-ai/dsh-session')
const { JsonlSessionPersistence } = await import('@deepseek-ai/dsh-session-persistence-jsonl')

const builders = {
  after: schedule.createAfterScheduleRecord,
  at: schedule.createAtScheduleRecord,
  every: schedule.createEveryScheduleRecord,
}

// An error's `code` is its contract, where it has one; else only its name and its message are known.
const refusal = (error) => ({ refused: error.code ?? error.name, message: error.message })

function foldPrefix(events, seedLength) {
  try {
    const { active, seenIds } = schedule.foldScheduleEvents(events, seedLength)
    return { active, seenIds }
  } catch (error) {
    return { refused: refusal(error).refused }
  }
}

// The state after every event of the own part, the state before the first of them included.
function foldEach({ events, seedLength }) {
  const states = []
  for (let end = seedLength; end <= events.length; end++) {
    states.push(foldPrefix(events.slice(0, end), seedLength))
  }
  return states
}

const foldWhole = ({ events, seedLength }) => foldPrefix(events, seedLength)

// The packages in a context of their own for one request, so that nothing is cached from one to the next.
async function withStore({ root, compression }, use) {
  const context = new Context()
  try {
    await context.plugin(SessionStore)
    await context.plugin(JsonlSessionPersistence, { root, compression })
    return await use(context)
  } finally {
    await context.fiber.dispose()
  }
}

// `brief` leaves the events out: what nests deeply can be read here, but not by everyone who asks.
const describe = ({ meta, events }, { brief }) => ({
  header: meta,
  count: events.length,
  ...(brief ? {} : { events }),
  state: foldPrefix(events, meta.seedLength ?? 0),
})

// Where a session with this header has its journal under the root.
const locate = (request) =>
  withStore(request, ({ sessionPersistence }) => sessionPersistence.locate(request.header).path)

// The stored events as they are (`readFrom`), or what a resumed session begins with (`inspect`).
const read = (request) =>
  withStore(request, async ({ sessionPersistence }) =>
    describe(
      await (request.way === 'readFrom'
        ? sessionPersistence.readFrom(request.id, 0)
        : sessionPersistence.inspect(request.id)),
      request,
    ),
  )

// Each step is an event as it stands, or a create whose id and record the package makes itself.
function take(session, { create, append }) {
  if (append !== undefined) return session.append(...append)
  const folded = schedule.foldScheduleEvents(session.events, session.header.seedLength ?? 0)
  const { kind, prompt, value, now } = create
  const record = builders[kind](schedule.allocateScheduleId(folded), prompt, value, now)
  return session.append('schedule/change', { version: 1, operation: 'create', schedule: record })
}

async function record({ sessions }, session, steps) {
  for (const step of steps) take(session, step)
  const durable = await sessions.flush(session)
  return { durable, ...describe({ meta: session.header, events: session.events }, {}) }
}

// A new session, written to its journal; `fork` makes another of all its events.
const write = (request) =>
  withStore(request, async (context) => {
    const session = context.sessions.create(request.id, { meta: request.meta })
    const answer = await record(context, session, request.steps)
    if (request.fork === undefined) return answer
    const child = context.sessions.fork(session, undefined, request.fork.id)
    return { ...answer, fork: await record(context, child, request.fork.steps) }
  })

// A stored session, taken up again and written on.
const resume = (request) =>
  withStore(request, async (context) => {
    const preparation = await context.sessionPersistence.prepare(request.id)
    const { session } = preparation
    context.sessions.enter(session)
    context.sessions.announce(session)
    const answer = await record(context, session, request.steps)
    preparation[Symbol.dispose]()
    return answer
  })

const greet = () => ({ node: process.version, nativeZstd })

const answers = { foldEach, foldWhole, greet, locate, read, resume, write }

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let answer
  try {
    const request = JSON.parse(line)
    answer = JSON.stringify({ answer: await answers[request.ask](request) })
  } catch (error) {
    answer = JSON.stringify(refusal(error))
  }
  process.stdout.write(`${answer}\n`)
}
