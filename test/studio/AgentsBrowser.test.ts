import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"

const agents = [
  Agent.make("clerk", { system: "You help at the desk.", description: "Answers at the desk" }),
  Agent.make("<img src=x onerror=alert(1)>", { system: "x", description: "**bold** <script>alert(2)</script>" })
]

Chromium.suite((open) => {
  it.scopedLive("shows the agents, by keyboard, at any width, in light and dark", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/agents")
      const { page, problems } = opened
      yield* Effect.promise(() => page.getByRole("region", { name: "clerk" }).waitFor())
      assert.strictEqual(yield* Effect.promise(() => page.getByText("<script>alert(2)</script>").count()), 1)
      yield* StudioPages.picture(page, "agents")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )
})
