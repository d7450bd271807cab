/** Writes until killed, and reports every acknowledged write. */
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layers from "../crash/Layers.js"
import * as Workload from "../crash/Workload.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly url: string
  readonly round: string
}

// Synchronous: a reported write was already acknowledged, and nothing is buffered in this process.
const ack: Workload.Acknowledge = (...words) => void Fs.writeSync(1, `${JSON.stringify(words.join(" "))}\n`)

Programs.main<Input>(({ input }) => Effect.provide(Workload.write(input.round, ack), Layers.make(input.url)))
