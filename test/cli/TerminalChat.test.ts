import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CliBundle from "../support/CliBundle.js"
import * as PseudoTerminal from "../support/PseudoTerminal.js"
import * as Shared from "../support/Shared.js"

class Bundle extends Context.Tag("test/cli/Bundle")<Bundle, CliBundle.CliBundle>() {}

const chat = (cwd: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(Bundle, ({ config, main }) =>
    PseudoTerminal.start([main, "chat", "--config", config("Desk"), ...args], { cwd })
  )

const RETURN = "\r"
const CTRL_C = "\u0003"
const CTRL_D = "\u0004"

Shared.suite("chat at a terminal", Layer.scoped(Bundle, CliBundle.make), (test) => {
  Shared.scoped(test)("asks before a call, with other arguments", () =>
    Effect.gen(function* () {
      const { folder } = yield* Bundle
      const terminal = yield* chat(folder())
      yield* terminal.until(/^clerk .*\n> $/m)
      yield* terminal.type(`please refund me${RETURN}`)
      yield* terminal.until('refund {"amount":500}')
      yield* terminal.until("[e]dit")
      yield* terminal.type(`e${RETURN}`)
      yield* terminal.until("arguments as JSON:")
      yield* terminal.type(`nonsense${RETURN}`)
      yield* terminal.until("That is no JSON.")
      yield* terminal.type(`{"amount": 50}${RETURN}`)
      yield* terminal.until("The desk says: refunded 50 euros")
      yield* terminal.type(`/cost${RETURN}`)
      yield* terminal.until("30 tokens")
      yield* terminal.type(CTRL_D)
      assert.strictEqual(yield* terminal.ended, 0)
      assert.isTrue(yield* terminal.hasColors)
    })
  )

  Shared.scoped(test)("leaves a run that can go on, and goes on with it", () =>
    Effect.gen(function* () {
      const { config, folder, main } = yield* Bundle
      const cwd = folder()
      const terminal = yield* chat(cwd)
      yield* terminal.until(/^> $/m)
      yield* terminal.type(`please refund me${RETURN}`)
      yield* terminal.until("[e]dit")
      yield* terminal.type(CTRL_C)
      const text = yield* terminal.until(/lexigram runs resume \S+/)
      assert.strictEqual(yield* terminal.ended, 130)
      const runId = /lexigram runs resume (\S+)/.exec(text)?.[1] ?? ""
      const resumed = yield* PseudoTerminal.start([main, "runs", "resume", runId, "--config", config("Desk")], {
        cwd
      })
      yield* resumed.until("[e]dit")
      yield* resumed.type(`y${RETURN}`)
      yield* resumed.until("The desk says: refunded 500 euros")
      assert.strictEqual(yield* resumed.ended, 0)
    })
  )

  Shared.scoped(test)("takes messages of several lines, pasted ones, and those of before", () =>
    Effect.gen(function* () {
      const { folder } = yield* Bundle
      const terminal = yield* chat(folder())
      yield* terminal.until(/^> $/m)
      yield* terminal.type(`first\\${RETURN}`)
      yield* terminal.until("…")
      yield* terminal.type(`second${RETURN}`)
      yield* terminal.until("heard 1: first|second")
      yield* terminal.until(/1: .*\n> $/m)
      yield* terminal.type("\u001b[200~one\rtwo\r\u001b[201~three")
      yield* terminal.type(RETURN)
      yield* terminal.until("heard 2: one|two|three")
      yield* terminal.until(/2: .*\n> $/m)
      yield* terminal.type(`\u001b[A\u001b[A\u001b[A${RETURN}`)
      yield* terminal.until(/heard 3: (?:second|one)/)
      yield* terminal.type(CTRL_D)
      assert.strictEqual(yield* terminal.ended, 0)
    })
  )

  Shared.scoped(test)("interrupts a run by Escape, and goes on; Ctrl-C clears a line, and leaves at an empty one", () =>
    Effect.gen(function* () {
      const { folder } = yield* Bundle
      const terminal = yield* chat(folder())
      yield* terminal.until(/^> $/m)
      yield* terminal.type(`wait${RETURN}`)
      yield* terminal.until(/step 1/)
      yield* terminal.type("typed meanwhile")
      yield* terminal.type("\u001b")
      yield* terminal.until("InterruptedError")
      yield* terminal.until(/^> typed meanwhile$/m)
      yield* terminal.type(CTRL_C)
      yield* terminal.type(`hello${RETURN}`)
      yield* terminal.until(/heard \d: hello/)
      yield* terminal.until(/hello\n> $/m)
      yield* terminal.type(CTRL_C)
      assert.strictEqual(yield* terminal.ended, 130)
    })
  )

  Shared.scoped(test)(
    "branches, keeps and restores, in a terminal that becomes narrow, without colours where they are not wanted",
    () =>
      Effect.gen(function* () {
        const { config, folder, main } = yield* Bundle
        const terminal = yield* PseudoTerminal.start([main, "chat", "--config", config("Desk"), "--session", "talk"], {
          cwd: folder(),
          env: { NO_COLOR: "1" }
        })
        yield* terminal.until(/^> $/m)
        yield* terminal.type(`hello${RETURN}`)
        yield* terminal.until("heard 1: hello")
        yield* terminal.type(`/checkpoint start${RETURN}`)
        const kept = yield* terminal.until(/Kept as \S+\./)
        yield* terminal.type(`again${RETURN}`)
        yield* terminal.until("heard 2: again")
        yield* terminal.type(`/fork aside${RETURN}`)
        yield* terminal.until("The conversation goes on as")
        yield* terminal.type(`and here${RETURN}`)
        yield* terminal.until("heard 3: and here")
        yield* terminal.type(`/tree${RETURN}`)
        yield* terminal.until(/^> \/tree\n {2}talk\n\* {3}\S+ {2}aside$/m)
        yield* terminal.type(`/restore ${/Kept as (\S+)\./.exec(kept)?.[1]}${RETURN}`)
        yield* terminal.until("The conversation is as it was then.")
        yield* terminal.resize(40, 20)
        yield* terminal.type(`${"long ".repeat(30)}${RETURN}`)
        yield* terminal.until(/heard 2: long (?:long ?){29}/)
        yield* terminal.type(`hostile${RETURN}`)
        yield* terminal.until("a\\u{001b}[2Jb\\u{202e}c\\u{0007}d")
        yield* terminal.type(`/agent nobody${RETURN}`)
        yield* terminal.until("There is no agent nobody.")
        yield* terminal.type(`/agent parrot${RETURN}`)
        yield* terminal.until("You talk with parrot now.")
        yield* terminal.type(`/tools${RETURN}`)
        yield* terminal.until("It has no tools.")
        yield* terminal.type(`/exit${RETURN}`)
        assert.strictEqual(yield* terminal.ended, 0)
        assert.isFalse(yield* terminal.hasColors)
      })
  )
})
