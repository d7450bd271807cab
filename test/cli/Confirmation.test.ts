import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CliBundle from "../support/CliBundle.js"
import * as PseudoTerminal from "../support/PseudoTerminal.js"
import * as Shared from "../support/Shared.js"

class Bundle extends Context.Tag("test/cli/ConfirmationBundle")<Bundle, CliBundle.CliBundle>() {}

Shared.suite("a confirmation at a terminal", Layer.scoped(Bundle, CliBundle.make), (test) => {
  Shared.scoped(test)("is asked for before a session is erased, and nothing happens without it", () =>
    Effect.gen(function* () {
      const { config, folder, main } = yield* Bundle
      const cwd = folder()
      const start = (...args: ReadonlyArray<string>) =>
        PseudoTerminal.start([main, ...args, "--config", config("Desk")], { cwd })
      const asked = yield* start("run", "--agent", "parrot", "--session", "talk", "Hello")
      yield* asked.until("heard 1: Hello")
      assert.strictEqual(yield* asked.ended, 0)

      for (const answer of ["n", "", "yesterday"]) {
        const declined = yield* start("sessions", "erase", "talk")
        yield* declined.until("Erase the session talk with 2 turns? [y]es, [n]o:")
        yield* declined.type(`${answer}\r`)
        yield* declined.until("nothing changed")
        assert.strictEqual(yield* declined.ended, 2)
      }
      const shown = yield* start("sessions", "show", "talk")
      yield* shown.until("heard 1: Hello")

      const erased = yield* start("sessions", "erase", "talk")
      yield* erased.until("[y]es, [n]o:")
      yield* erased.type("y\r")
      yield* erased.until("Erased talk")
      assert.strictEqual(yield* erased.ended, 0)
      const gone = yield* start("sessions", "show", "talk")
      assert.strictEqual(yield* gone.ended, 4)
    })
  )
})
