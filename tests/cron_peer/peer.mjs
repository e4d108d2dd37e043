// The npm package croner, asked by tests/test_cron_engines.py: one question a line on standard input,
// one answer a line on standard output, in order, until the input ends.
//
// With its instants it tells how Node's own tz database reads them, and those that it was given: that
// database has releases of its own.

import { createInterface } from 'node:readline'

import { Cron } from 'croner'

const clocks = new Map()

function read(zone, at) {
  if (!clocks.has(zone)) {
    const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' }
    clocks.set(zone, new Intl.DateTimeFormat('en', { timeZone: zone, hourCycle: 'h23', ...parts }))
  }
  const shown = Object.fromEntries(clocks.get(zone).formatToParts(at).map(({ type, value }) => [type, +value]))
  return [shown.year, shown.month, shown.day, shown.hour, shown.minute]
}

function answer({ expression, zone, start, count, also }) {
  let found
  try {
    const cron = new Cron(expression, { mode: '5-part', timezone: zone, paused: true })
    found = cron.nextRuns(count, new Date(start)).map(Number)
  } catch (error) {
    return { refused: error.message, readings: [] }
  }
  return { found, readings: [...found, ...also].map((at) => [at, read(zone, at)]) }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(answer(JSON.parse(line))))
}
