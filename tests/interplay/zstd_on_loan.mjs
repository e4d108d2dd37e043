// What `node:zlib` exports in a Node that knows zstd, for one that does not: the codec is Python's
// `zstandard`, run once for each call. The frames, and what stands in each, remain the package's own.

import { spawnSync } from 'node:child_process'
import { Transform } from 'node:stream'

export * from 'node:zlib'
export { default } from 'node:zlib'

const python = process.argv[2]
const compress = 'out.write(z.ZstdCompressor(write_checksum=True).compress(data))'
const decompress = `
while data:
    frame = z.ZstdDecompressor().decompressobj()
    out.write(frame.decompress(data))
    if not frame.eof:
        sys.exit("the frame is cut off")
    data = frame.unused_data`

const script = (work) => [
  '-c',
  `import sys, zstandard as z\nout, data = sys.stdout.buffer, sys.stdin.buffer.read()\n${work}`,
]

function run(work, input) {
  const done = spawnSync(python, script(work), { input, maxBuffer: 2 ** 30 })
  if (done.status !== 0) throw new Error(`zstd: ${done.stderr}`)
  return done.stdout
}

function answer(work, input, callback) {
  try {
    callback(null, run(work, input))
  } catch (error) {
    callback(error)
  }
}

export const zstdCompress = (input, options, callback = options) =>
  process.nextTick(answer, compress, input, callback)
export const zstdDecompress = (input, options, callback = options) =>
  process.nextTick(answer, decompress, input, callback)
export const zstdDecompressSync = (input) => run(decompress, input)

export function createZstdDecompress() {
  const parts = []
  const stream = new Transform({
    transform(part, _encoding, done) {
      parts.push(part)
      done()
    },
    flush(done) {
      answer(decompress, Buffer.concat(parts), done)
    },
  })
  return Object.assign(stream, { close: () => stream.destroy() })
}
