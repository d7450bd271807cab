import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as SessionConfig from "../../src/session/SessionConfig.js"

const read = (variables: Record<string, string>) =>
  Effect.withConfigProvider(SessionConfig.config, ConfigProvider.fromMap(new Map(Object.entries(variables))))

type Row = readonly [text: string, value: unknown, bad: string]

const count: Row = ["7", 7, "0"]

/** Every field: a text that sets it, what it sets, and one that cannot be. */
const rows: Record<string, Row> = {
  ENABLED: ["false", false, "rubbish"],
  NAME: [" support ", "support", "\u0000"],
  DEFAULT_SYSTEM_PROMPT: ["Be brief.", "Be brief.", ""],
  SESSION_TTL: ["0", 0, "-1"],
  CLEANUP_INTERVAL_S: ["30", 30, "0"],
  MAX_TURNS_PER_SESSION: count,
  MAX_TURN_BYTES: count,
  MAX_SESSIONS_PER_USER: count,
  AUTO_CHECKPOINT_INTERVAL: ["none", null, "0.5"],
  MAX_CHECKPOINTS_PER_SESSION: count,
  MAX_BRANCHES_PER_SESSION: count,
  MAX_AGENTS_PER_GROUP: count,
  DEFAULT_TURN_STRATEGY: [" Priority ", "priority", "random"],
  BACKEND: ["database", "database", "redis"],
  COOKIE_NAME: ["none", null, "a b"],
  HEADER_NAME: ["X-Conversation", "X-Conversation", "a: b"],
  EXCHANGE_LEASE_S: ["30", 30, "0"],
  CONSOLIDATE_ON_CLOSE: ["false", false, "rubbish"]
}

const camel = (name: string) => name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

describe("SessionConfig from the environment", () => {
  it.effect("uses the defaults when nothing is set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({}), SessionConfig.defaults)
      assert.deepStrictEqual(SessionConfig.make(), Either.right(SessionConfig.defaults))
      assert.deepStrictEqual(Object.keys(SessionConfig.defaults).toSorted(), Object.keys(rows).map(camel).toSorted())
    })
  )

  for (const [name, [text, value, rubbish]] of Object.entries(rows)) {
    const variable = `${SessionConfig.ENV_PREFIX}${name}`
    it.effect(`${variable} sets its field alone`, () =>
      Effect.gen(function* () {
        const given = yield* read({ [variable]: text })
        assert.deepStrictEqual<unknown>(given, { ...SessionConfig.defaults, [camel(name)]: value })
        assert.notDeepEqual<unknown>(given, SessionConfig.defaults)
      })
    )
    // Any text is a prompt.
    if (name === "DEFAULT_SYSTEM_PROMPT") continue
    it.effect(`names ${variable} when it cannot be read`, () =>
      Effect.gen(function* () {
        assert.include(String(yield* Effect.flip(read({ [variable]: rubbish }))), variable)
      })
    )
  }

  it.effect("reads nullable fields as a value and as none", () =>
    Effect.gen(function* () {
      const some = yield* read({
        LEX_AI_SESSION__AUTO_CHECKPOINT_INTERVAL: "3",
        LEX_AI_SESSION__COOKIE_NAME: "sid",
        LEX_AI_SESSION__DEFAULT_SYSTEM_PROMPT: "None of it"
      })
      assert.strictEqual(some.autoCheckpointInterval, 3)
      assert.strictEqual(some.cookieName, "sid")
      assert.strictEqual(some.defaultSystemPrompt, "None of it")
      assert.isNull((yield* read({ LEX_AI_SESSION__DEFAULT_SYSTEM_PROMPT: "none" })).defaultSystemPrompt)
    })
  )

  it.effect("names all invalid values", () =>
    Effect.gen(function* () {
      const error = String(
        yield* Effect.flip(read({ LEX_AI_SESSION__SESSION_TTL: "-1", LEX_AI_SESSION__MAX_BRANCHES_PER_SESSION: "0" }))
      )
      assert.include(error, "LEX_AI_SESSION__SESSION_TTL")
      assert.include(error, "LEX_AI_SESSION__MAX_BRANCHES_PER_SESSION")
    })
  )
})

describe("SessionConfig from code", () => {
  it("keeps the default for undefined and names invalid fields with their bounds", () => {
    assert.deepStrictEqual(
      SessionConfig.make({ sessionTtl: undefined, maxTurnsPerSession: 5 }),
      Either.right({ ...SessionConfig.defaults, maxTurnsPerSession: 5 })
    )
    const failure = Either.getOrThrow(
      Either.flip(
        SessionConfig.make({
          sessionTtl: Number.NaN,
          headerName: "X-Id\r\nSet-Cookie",
          colour: "red"
        } as unknown as SessionConfig.Options)
      )
    )
    assert.strictEqual(failure._tag, "SessionConfigurationError")
    for (const part of ["sessionTtl must be seconds", "headerName must be a header name", "colour is not a field"]) {
      assert.include(failure.message, part)
    }
    assert.include(failure.hint ?? "", "backend")
  })
})

describe("validateForEnvironment", () => {
  it("reports a store in process memory only in production", () => {
    const issues = SessionConfig.validateForEnvironment(SessionConfig.defaults, "production")
    assert.deepStrictEqual(
      issues.map(({ field, level }) => ({ field, level })),
      [{ field: "backend", level: "error" }]
    )
    assert.deepStrictEqual(SessionConfig.validateForEnvironment(SessionConfig.defaults, "development"), [])
    for (const other of [{ backend: "database" }, { backend: "cache" }, { enabled: false }] as const) {
      const config = Either.getOrThrow(SessionConfig.make(other))
      assert.deepStrictEqual(SessionConfig.validateForEnvironment(config, "production"), [])
    }
  })
})
