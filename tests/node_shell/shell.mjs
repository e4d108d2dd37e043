// A shell in JavaScript: the core's owner and tools, driven over two pipes (docs/other-languages.md).
// Whoever started this program plays the world (log, agent, clock) on its standard input and output;
// the core is a child process, `wakefold serve-core` or what the arguments say. What is left to a shell
// is little: one FIFO for the owner's runs and the tools, every event reported before the answer that
// follows it, effects performed in order, and word sent back of what came of them.

import { spawn } from 'node:child_process'

// One end of a pipe: asks, and hears what is asked.
class Peer {
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
    this.send({ id: ++this.count, op, ...fields })
    return new Promise((resolve, reject) => this.waiting.set(this.count, { resolve, reject }))
  }
}

const command = process.argv.length > 2 ? process.argv.slice(2) : ['wakefold', 'serve-core']
const serving = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
const core = new Peer(serving.stdout, serving.stdin)
const greeting = core.ask('hello', { protocol: 1 })
const world = new Peer(process.stdin, process.stdout, hear)
process.stdin.on('end', () => serving.stdin.end())
let session

async function hear({ id, op, ...told }) {
  try {
    if (op === 'hello') return world.send({ id, ok: await greeting })
    if (op === 'begin') session = Object.assign(new Session(), told)
    await session.hear(op, told)
    world.send({ id, ok: null })
  } catch (error) {
    world.send({ id, error: { code: error.code ?? 'broken', message: error.message } })
  }
}

const refusal = (code, message) => Object.assign(new Error(message), { code })
const readLog = (start) => world.ask('read_log', { start }).then((log) => log.events, () => null)
const readClock = () => world.ask('read_clock').then((clock) => clock.nowMs, () => null)
const attempt = (op, fields) => world.ask(op, fields).then(() => true, () => false)
const plainFacts = { timer_fired: 'Nudged', went_idle: 'WentIdle', detached: 'Detached' }
const plainOrders = { Flush: 'flush', Arm: 'arm', Disarm: 'disarm', Release: 'release' }
Object.assign(plainOrders, { AwaitIdle: 'await_idle', Warn: 'warn', Disposed: 'disposed' })

// One session: `hear` is over once nothing moves any more.
class Session {
  facts = [] // for the owner, in the order in which they happened
  queue = [] // the FIFO: calls, and `null` for a turn of the owner
  turn = undefined // whose turn it is: a call, `null` for the owner, `undefined` for nobody
  calls = new Map()

  async hear(op, told) {
    if (op === 'begin') await this.open()
    else if (op in plainFacts) this.facts.push({ type: plainFacts[op] })
    else if (op === 'idle_wait_ended') this.facts.push({ type: told.failed ? 'IdleFailed' : 'IdleCame' })
    else if (op === 'flush_ended') await this.endFlush(told.outcome === 'ok')
    else if (op === 'call_tool') await this.openCall(told)
    else if (op === 'cancel_call') Object.assign(this.calls.get(told.label) ?? {}, { cancelled: true })
    else if (op === 'dispose') {
      this.disposed = true
      for (const call of this.calls.values()) call.cancelled = true
      this.facts.push({ type: 'DisposeAsked' })
    } else throw refusal('bad_request', `${op} is unknown here.`)
    await (this.settled ??= this.settle().finally(() => (this.settled = undefined)))
  }

  async open() {
    const log = await readLog(0)
    this.reported = log?.length ?? 0
    await core.ask('open', { as: 'owner', events: log, seedLength: this.seedLength })
    if (this.mode === 'owner') this.facts.push({ type: 'Nudged' })
  }

  async settle() {
    while (this.facts.length || (this.turn === undefined && this.queue.length)) {
      await (this.facts.length ? this.advance() : this.giveTurn(this.queue.shift()))
    }
  }

  async advance() {
    const { effects } = await core.ask('advance', { of: 'owner', signals: this.facts.splice(0) })
    for (const effect of effects) await this.perform(effect)
  }

  async perform({ type, ...effect }) {
    if (type in plainOrders) world.ask(plainOrders[type], effect) // never fails, and nothing waits for it
    else if (type === 'TakeTurn') this.queue.push(null)
    else if (type === 'EndTurn') this.turn = undefined
    else if (type === 'Claim') await this.claim()
    else if (type === 'HandOver') await this.handOver(effect)
    else if (type === 'PassOver') console.error(effect.records.map((one) => `${one.id}: no ${one.timeZone}`))
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
    const [, nowMs] = await Promise.all([this.report(), readClock()])
    this.facts.push(nowMs === null ? { type: 'Broke' } : { type, nowMs })
  }

  async append(changes) {
    const time = (await readClock()) ?? 0
    return attempt('append', { events: changes.map((data) => ({ type: 'schedule/change', time, data })) })
  }

  async report() {
    const events = await readLog(this.reported)
    this.reported += events?.length ?? 0
    const seen = events?.map((event) => ({ type: 'Recorded', event }))
    this.facts.push(...(seen ?? [{ type: 'LogLost' }]))
  }

  async endFlush(confirmed) {
    if (!this.turn && confirmed) return this.answerWithClock('Flushed')
    if (!this.turn) return this.facts.push({ type: 'FlushRefused' })
    if (!confirmed) return this.go(this.turn, { type: 'Refused' })
    await this.report()
    if (this.mode === 'owner') this.facts.push({ type: 'Nudged' })
    else await attempt('recompute')
    if (this.facts.length) await this.advance()
    await this.go(this.turn, { type: 'Confirmed', log: 'owner', guard: 'owner' })
  }

  async openCall({ label, tool, arguments: given, cancelled }) {
    if (this.disposed) throw refusal('unavailable', 'This session has ended.')
    const call = { label, name: `call ${label}`, cancelled }
    const opened = await core.ask('call', { as: call.name, tool, arguments: given })
    if ('answer' in opened) return world.ask('answer', { label, value: opened.answer })
    this.calls.set(label, call)
    this.queue.push(call)
  }

  async giveTurn(call) {
    this.turn = call
    if (call === null) this.facts.push({ type: 'TurnCame' })
    else if (call.cancelled) await this.finish(call)
    else world.ask('flush') // every program begins with a barrier
  }

  async go(call, answer) {
    for (;;) {
      const { step, ...done } = await core.ask('step', { of: call.name, answer })
      if (!step) return this.finish(call, done)
      if (step.type === 'Barrier') return world.ask('flush')
      if (step.type === 'Append' && call.cancelled) return this.finish(call)
      answer = (await this.look(step)) ?? { type: 'Refused' }
    }
  }

  // What a step comes to; nothing where it fails.
  async look({ type, change }) {
    if (type === 'Append') return (await this.append([change])) ? { type: 'Appended' } : null
    const seen = await (type === 'ReadClock' ? readClock() : readLog(0))
    if (seen === null) return null
    if (type === 'ReadClock') return { type: 'Sampled', nowMs: seen }
    return { type: 'LogRead', headerTimeZone: this.timeZone, events: seen }
  }

  // Answer a call; one that is not done is cancelled.
  async finish(call, done) {
    const { answer } = done ?? (await core.ask('cancel', { of: call.name }))
    this.turn = undefined
    this.calls.delete(call.label)
    world.ask('answer', { label: call.label, value: answer })
  }
}
