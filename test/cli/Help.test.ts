import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Commands from "../support/Commands.js"

describe("help of the command line", () => {
  it.effect("lists the commands in lines that fit, without flags", () =>
    Effect.gen(function* () {
      for (const args of [[], ["--help"], ["runs"], ["runs", "--help"]]) {
        const { code, out } = yield* Commands.run(args, { columns: 80 })
        assert.strictEqual(code, 0, args.join(" "))
        const [, list = ""] = out.split("COMMANDS")
        assert.match(list, /^ {2}(?:runs )?list {2,}The runs, the newest first$/m)
        assert.notInclude(list, "--")
        for (const line of list.split("\n")) assert.isAtMost(line.length, 80)
      }
      assert.match((yield* Commands.run([])).out, /^ {2}chat {2,}Talk with an agent$/m)
    })
  )

  it.effect("describes the flags of a command, and completes them in three shells", () =>
    Effect.gen(function* () {
      const { out } = yield* Commands.run(["runs", "list", "--help"])
      assert.include(out, "--state")
      for (const shell of ["bash", "zsh", "fish"]) {
        const { code, out } = yield* Commands.run(["--completions", shell])
        assert.strictEqual(code, 0)
        assert.include(out, "resume", shell)
      }
    })
  )

  it.effect("says what is wrong with a command that there is not, and ends with 2", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* Commands.run(["rnu", "Hi"])
      assert.strictEqual(code, 2)
      assert.strictEqual(out, "")
      assert.include(err, "use one of")
      const version = yield* Commands.run(["--version"])
      assert.match(version.out, /^\d+\.\d+\.\d+\s+$/)
    })
  )
})
