/**
 * Finds processes of this machine.
 */
import { randomInt } from "node:crypto"
import * as Fs from "node:fs"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A unique command that runs for minutes. */
export const fresh = (): string => `sleep 300.${randomInt(1e9)}`

/** Live processes started by this text, without shells whose script contains it. */
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

/** Command lines of running processes that this process started. */
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

/** Polls in real time. The time limit is a bound against hangs, not a promise: a busy machine is slow. */
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
