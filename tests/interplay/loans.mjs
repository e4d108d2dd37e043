// What the released packages miss in an older Node, lent to it before they are imported.

import { register } from 'node:module'
import * as zlib from 'node:zlib'

// The packages want Node 22. Two things that they use came after Node 20, and are lent to it here.
export const nativeZstd = typeof zlib.zstdCompress === 'function'
if (!nativeZstd) {
  const loan = JSON.stringify(new URL('./zstd_on_loan.mjs', import.meta.url).href)
  const hook = `export const resolve = (name, context, next) =>
    name === 'node:zlib' && context.parentURL !== ${loan}
      ? { url: ${loan}, shortCircuit: true }
      : next(name, context)`
  register(`data:text/javascript,${encodeURIComponent(hook)}`)
}
Promise.withResolvers ??= function () {
  const made = {}
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}
