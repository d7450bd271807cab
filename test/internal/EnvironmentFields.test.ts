import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as EnvironmentFields from "../../src/internal/EnvironmentFields.js"

const variableOf = EnvironmentFields.variableOf("LEX_TEST__")
const fields = { maxTurns: Config.integer(variableOf("maxTurns")), name: Config.string(variableOf("name")) }

const reading = (variables: Record<string, string>) =>
  EnvironmentFields.read(fields).pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
  )

describe("EnvironmentFields", () => {
  it.effect("reads the fields whose variables are set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reading({ LEX_TEST__MAX_TURNS: "3" }), { maxTurns: 3 })
      assert.deepStrictEqual(yield* reading({}), {})
    })
  )

  it.effect("names the variable of an unreadable value", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(reading({ LEX_TEST__MAX_TURNS: "many" }))
      assert.include(String(error), "LEX_TEST__MAX_TURNS")
    })
  )

  it("names all invalid variables in one failure", () => {
    const error = EnvironmentFields.invalid([
      { variable: "A", message: "too low" },
      { variable: "B", message: "no number" }
    ])
    assert.isTrue(ConfigError.isConfigError(error))
    assert.include(String(error), "A")
    assert.include(String(error), "no number")
  })
})
