/** Writes until it is killed, and says each time what was acknowledged. */
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layers from "../crash/Layers.js"
import * as Workload from "../crash/Workload.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly url: string
  readonly round: string
}

// At once: what has been said was kept before, and nothing of it waits in this process.
const ack: Workload.Acknowledge = (...words) => void Fs.writeSync(1, `${JSON.stringify(words.join(" "))}\n`)

Programs.main<Input>(({ input }) => Effect.provide(Workload.write(input.round, ack), Layers.make(input.url)))
