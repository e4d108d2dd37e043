// A shell in JavaScript: the core's owner and tools, driven over two pipes.
//
//   wakefold conformance tests/vectors --shell 'node tests/node_shell/shell.mjs wakefold serve-core'
//
// Whoever started this program plays the world (log, agent, clock) on its standard input and output;
// the core is a child process, `wakefold serve-core` or what the arguments say. Both pipes speak the
// same protocol (docs/other-languages.md). What is left to a shell is little: one FIFO for the owner's
// runs and the tools, every event reported before the answer that follows it, effects performed in
// order, and word sent back of what came of them.

import { spawn } from 'node:child_process'

class Peer {
  // One end of a pipe: asks, and hears what is asked.
  constructor(input, output, hear) {
    Object.assign(this, { output, hear, count: 0, waiting: new Map(), begun: '' })
    input.setEncoding('utf8').on('data', (text) => {
      const lines = (this.begun + text).split('\n') // at LF alone: readline would split at U+2028, too
      this.begun = lines.pop()
      for (const line of lines) this.receive(JSON.parse(line))
    })
  }

  receive(message) {
    if ('op' in message) return this.hear(message)
    const { resolve, reject } = this.waiting.get(message.id)
    this.waiting.delete(message.id)
    if ('error' in message) reject(Object.assign(new Error(message.error.message), message.error))
    else resolve(message.ok)
  }

  send(message) {
    this.output.write(`${JSON.stringify(message)}\n`)
  }

  ask(op, fields = {}) {
    const id = ++this.count
    this.send({ id, op, ...fields })
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }))
  }
}

const [command = 'wakefold', ...words] = process.argv.slice(2)
const serving = spawn(command, command === 'wakefold' && !words.length ? ['serve-core'] : words, {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const core = new Peer(serving.stdout, serving.stdin)
const greeting = core.ask('hello', { protocol: 1 })
let session
const world = new Peer(process.stdin, process.stdout, hear)
process.stdin.on('end', () => serving.stdin.end())

async function hear({ id, op, ...told }) {
  try {
    if (op === 'hello') return world.send({ id, ok: await greeting })
    if (op === 'begin') session = new Session(told)
    await session.hear(op, told)
    world.send({ id, ok: null }) // by now nothing moves any more
  } catch (error) {
    world.send({ id, error: { code: error.code ?? 'broken', message: error.message } })
  }
}

class Session {
  facts = [] // for the owner, in the order in which they happened
  queue = [] // the FIFO: calls, and `null` for a turn of the owner
  turn = undefined // whose turn it is: a call, `null` for the owner, `undefined` for nobody
  calls = new Map()
  disposed = false

  constructor({ mode, seedLength, timeZone }) {
    Object.assign(this, { owned: mode === 'owner', seedLength, timeZone })
  }

  async hear(op, told) {
    if (op === 'begin') await this.open()
    else if (op === 'timer_fired') this.facts.push({ type: 'Nudged' })
    else if (op === 'went_idle') this.facts.push({ type: 'WentIdle' })
    else if (op === 'idle_wait_ended') this.facts.push({ type: told.failed ? 'IdleFailed' : 'IdleCame' })
    else if (op === 'detached') this.facts.push({ type: 'Detached' })
    else if (op === 'flush_ended') await this.endFlush(told.outcome === 'ok')
    else if (op === 'call_tool') await this.openCall(told)
    else if (op === 'cancel_call') this.cancel(this.calls.get(told.label))
    else if (op === 'dispose') {
      this.disposed = true
      for (const call of this.calls.values()) this.cancel(call)
      this.facts.push({ type: 'DisposeAsked' })
    } else throw Object.assign(new Error(`${op} is unknown here.`), { code: 'bad_request' })
    this.settled ??= this.settle().finally(() => (this.settled = undefined))
    await this.settled
  }

  async open() {
    const log = await this.readLog(0)
    this.reported = log?.length ?? 0
    await core.ask('open', { as: 'owner', events: log, seedLength: this.seedLength })
    if (this.owned) this.facts.push({ type: 'Nudged' })
  }

  async settle() {
    for (;;) {
      if (this.facts.length) await this.advance()
      else if (this.turn === undefined && this.queue.length) await this.giveTurn(this.queue.shift())
      else return
    }
  }

  async advance() {
    const { effects } = await core.ask('advance', { of: 'owner', signals: this.facts.splice(0) })
    for (const effect of effects) await this.perform(effect)
  }

  async perform({ type, ...effect }) {
    if (type === 'TakeTurn') this.queue.push(null)
    else if (type === 'EndTurn') this.turn = undefined
    else if (type === 'Flush') await world.ask('flush')
    else if (type === 'Arm') await world.ask('arm', { delayMs: effect.delayMs })
    else if (type === 'Disarm') await world.ask('disarm')
    else if (type === 'Claim') await this.claim()
    else if (type === 'HandOver') await this.handOver(effect)
    else if (type === 'Release') await world.ask('release')
    else if (type === 'AwaitIdle') await world.ask('await_idle')
    else if (type === 'Warn') await world.ask('warn', { kind: effect.kind })
    else if (type === 'Disposed') await world.ask('disposed')
    else throw new Error(`the effect ${type} is unknown here`)
  }

  async claim() {
    const claimed = await world.ask('claim').catch(() => null)
    if (claimed === null) this.facts.push({ type: 'Broke' })
    else if (claimed.granted) await this.answerWithClock('ClaimGranted')
    else this.facts.push({ type: 'ClaimBusy' })
  }

  async handOver({ message, changes }) {
    if (!(await attempt('queue', { message }))) return this.facts.push({ type: 'FollowupFailed' })
    const appended = await this.append(changes)
    await this.report()
    this.facts.push({ type: appended ? 'HandedOver' : 'AppendFailed' })
  }

  async answerWithClock(type) {
    await this.report()
    const sample = await world.ask('read_clock').catch(() => null)
    this.facts.push(sample === null ? { type: 'Broke' } : { type, nowMs: sample.nowMs })
  }

  async append(changes) {
    const time = await world.ask('read_clock').then((clock) => clock.nowMs, () => 0)
    return attempt('append', { events: changes.map((data) => ({ type: 'schedule/change', time, data })) })
  }

  readLog(start) {
    return world.ask('read_log', { start }).then((log) => log.events, () => null)
  }

  async report() {
    const events = await this.readLog(this.reported)
    this.reported += events?.length ?? 0
    if (events === null) this.facts.push({ type: 'LogLost' })
    else for (const event of events) this.facts.push({ type: 'Recorded', event })
  }

  async endFlush(confirmed) {
    if (!this.turn) {
      if (confirmed) return this.answerWithClock('Flushed')
      return this.facts.push({ type: 'FlushRefused' })
    }
    if (!confirmed) return this.go(this.turn, { type: 'Refused' })
    await this.report()
    if (this.owned) this.facts.push({ type: 'Nudged' })
    else await attempt('recompute')
    if (this.facts.length) await this.advance()
    await this.go(this.turn, { type: 'Confirmed', log: 'owner', guard: 'owner' })
  }

  async openCall({ label, tool, arguments: given, cancelled }) {
    if (this.disposed) throw Object.assign(new Error('This session has ended.'), { code: 'unavailable' })
    const name = `call ${label}`
    const opened = await core.ask('call', { as: name, tool, arguments: given })
    if ('answer' in opened) return world.ask('answer', { label, value: opened.answer })
    const call = { label, name, step: opened.step, cancelled }
    this.calls.set(label, call)
    this.queue.push(call)
  }

  cancel(call) {
    if (call) call.cancelled = true // looked at when its turn comes, and before an append
  }

  async giveTurn(call) {
    this.turn = call
    if (call === null) this.facts.push({ type: 'TurnCame' })
    else if (call.cancelled) await this.finish(call, await core.ask('cancel', { of: call.name }))
    else await this.perform({ type: 'Flush' }) // every program begins with a barrier
  }

  async go(call, answer) {
    for (;;) {
      const next = await core.ask('step', { of: call.name, answer })
      if ('answer' in next) return this.finish(call, next)
      const { type, change } = next.step
      if (type === 'Barrier') return world.ask('flush')
      if (type === 'Append' && call.cancelled) {
        return this.finish(call, await core.ask('cancel', { of: call.name }))
      }
      if (type === 'Append') answer = { type: (await this.append([change])) ? 'Appended' : 'Refused' }
      else answer = await this.look(type)
    }
  }

  async look(type) {
    if (type === 'ReadClock') {
      const sampled = ({ nowMs }) => ({ type: 'Sampled', nowMs })
      return world.ask('read_clock').then(sampled, () => ({ type: 'Refused' }))
    }
    const events = await this.readLog(0)
    return events ? { type: 'LogRead', headerTimeZone: this.timeZone, events } : { type: 'Refused' }
  }

  async finish(call, { answer }) {
    this.turn = undefined
    this.calls.delete(call.label)
    await world.ask('answer', { label: call.label, value: answer })
  }
}

// Whether the world does what is asked.
function attempt(op, fields) {
  return world.ask(op, fields).then(() => true, () => false)
}
