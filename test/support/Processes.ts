/**
 * Processes of this machine, as tests look for them.
 */
import { randomInt } from "node:crypto"
import * as Fs from "node:fs"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A command that lasts for minutes and that nobody else runs. */
export const fresh = (): string => `sleep 300.${randomInt(1e9)}`

/** The living processes that were started by this text, not the shells that have it in their script. */
export const running = (command: string): ReadonlyArray<number> =>
  Fs.readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const line = Fs.readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0").join(" ").trim()
        return line === command ? [Number(name)] : []
      } catch {
        return []
      }
    })

/** The command lines of what this process has started and what still runs. */
export const children = (): ReadonlyArray<string> =>
  Fs.readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
    .split(" ")
    .flatMap((pid) => {
      try {
        return pid.trim() === "" ? [] : [Fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").join(" ")]
      } catch {
        return []
      }
    })

/** Looks again and again, by the clock of the machine. The time is a net against hangs, not a promise: a busy machine takes long. */
export const eventually = (check: () => boolean, withinMillis = 120_000): Effect.Effect<void> =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    while (!check()) {
      if ((yield* Clock.currentTimeMillis) - from > withinMillis) {
        return yield* Effect.dieMessage(`not within ${withinMillis} ms: ${check}`)
      }
      yield* Effect.sleep(5)
    }
  }).pipe(Effect.withClock(Clock.make()))
