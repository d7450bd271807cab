import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as MemoryConfig from "../../src/memory/MemoryConfig.js"

const read = (variables: Record<string, string>) =>
  Effect.withConfigProvider(MemoryConfig.config, ConfigProvider.fromMap(new Map(Object.entries(variables))))

type Row = readonly [text: string, value: unknown, bad: string]

const share = (text: string): Row => [text, Number(text), "1.5"]

/** Every field: a text that sets it, what it sets, and one that cannot be. */
const rows: Record<string, Row> = {
  ENABLED: ["false", false, "rubbish"],
  DEFAULT_BACKEND: [" Cache ", "cache", "redis"],
  TTL_SECONDS: ["0", 0, "-1"],
  RENEW_ON_RECALL: ["true", true, "rubbish"],
  MAX_AGE_SECONDS: ["60", 60, "0"],
  WORKING__SYSTEM_PROMPT_TOKENS: ["0", 0, "-1"],
  WORKING__RECENT_TURNS_FRACTION: share("0.3"),
  WORKING__EPISODIC_FRACTION: share("0.2"),
  WORKING__SEMANTIC_FRACTION: share("0.1"),
  WORKING__TOOL_DESCRIPTIONS_FRACTION: share("0"),
  WORKING__MAX_RECENT_TURNS: ["5", 5, "0"],
  EPISODIC__DEFAULT_TOP_K: ["3", 3, "0"],
  EPISODIC__RECENCY_WEIGHT: share("1"),
  EPISODIC__IMPORTANCE_WEIGHT: share("0"),
  EPISODIC__RELEVANCE_WEIGHT: share("0.25"),
  EPISODIC__RECENCY_HALF_LIFE_HOURS: ["1.5", 1.5, "0"],
  EPISODIC__VECTOR_WEIGHT: share("0.5"),
  EPISODIC__TTL_SECONDS: ["60", 60, "-1"],
  SEMANTIC__MIN_CONFIDENCE: share("0.9"),
  SEMANTIC__MAX_FACTS_PER_ENTITY: ["1", 1, "0"],
  SEMANTIC__EXTRACT_AFTER_SECONDS: ["30", 30, "-1"],
  SEMANTIC__EXTRACT_MAX_WAIT_SECONDS: ["60", 60, "-1"],
  CONSOLIDATION__ENABLED: ["false", false, "rubbish"],
  CONSOLIDATION__INTERVAL_SECONDS: ["0.5", 0.5, "0"],
  CONSOLIDATION__AGE_THRESHOLD_HOURS: ["1", 1, "0"],
  CONSOLIDATION__HALF_LIFE_HOURS: ["24", 24, "0"],
  CONSOLIDATION__IMPORTANCE_PRUNE_THRESHOLD: share("0"),
  CONSOLIDATION__BATCH_SIZE: ["1", 1, "0"]
}

const camel = (name: string) => name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const pathOf = (name: string): ReadonlyArray<string> => name.split("__").map(camel)

const leaves = (value: object, above: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === "object" && inner !== null
      ? leaves(inner as object, [...above, name])
      : [[...above, name].join(".")]
  )

const withField = (path: ReadonlyArray<string>, value: unknown): unknown => {
  const [field = "", inner] = path
  const defaults = MemoryConfig.defaults as unknown as Record<string, Record<string, unknown>>
  return { ...defaults, [field]: inner === undefined ? value : { ...defaults[field], [inner]: value } }
}

describe("MemoryConfig from the environment", () => {
  it.effect("gives the defaults when nothing is set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({}), MemoryConfig.defaults)
      assert.deepStrictEqual(MemoryConfig.make(), Either.right(MemoryConfig.defaults))
      assert.deepStrictEqual(
        leaves(MemoryConfig.defaults).toSorted(),
        Object.keys(rows)
          .map((name) => pathOf(name).join("."))
          .toSorted()
      )
    })
  )

  for (const [name, [text, value, rubbish]] of Object.entries(rows)) {
    const variable = `${MemoryConfig.ENV_PREFIX}${name}`
    it.effect(`sets only its field by ${variable}, and names it when it is unreadable`, () =>
      Effect.gen(function* () {
        const read1 = yield* read({ [variable]: text })
        assert.deepStrictEqual<unknown>(read1, withField(pathOf(name), value))
        assert.notDeepEqual<unknown>(read1, MemoryConfig.defaults)
        assert.include(String(yield* Effect.flip(read({ [variable]: rubbish }))), variable)
      })
    )
  }

  it.effect("names every invalid variable", () =>
    Effect.gen(function* () {
      const error = String(
        yield* Effect.flip(
          read({ LEX_AI_MEMORY__TTL_SECONDS: "-1", LEX_AI_MEMORY__CONSOLIDATION__BATCH_SIZE: "0", OTHER: "x" })
        )
      )
      assert.include(error, "LEX_AI_MEMORY__TTL_SECONDS")
      assert.include(error, "LEX_AI_MEMORY__CONSOLIDATION__BATCH_SIZE")
    })
  )
})

describe("MemoryConfig from code", () => {
  it("replaces fields of a group one by one, and keeps the default for undefined", () => {
    const made = Either.getOrThrow(
      MemoryConfig.make({ working: { maxRecentTurns: 3, episodicFraction: undefined }, ttlSeconds: undefined })
    )
    assert.deepStrictEqual(made, {
      ...MemoryConfig.defaults,
      working: { ...MemoryConfig.defaults.working, maxRecentTurns: 3 }
    })
  })

  it("names every invalid or unknown field and its requirement", () => {
    const failure = Either.getOrThrow(
      Either.flip(
        MemoryConfig.make({
          ttlSeconds: Number.NaN,
          episodic: { defaultTopK: 1.5 },
          semantic: { maxFacts: 1 },
          colour: "red"
        } as unknown as MemoryConfig.Options)
      )
    )
    assert.strictEqual(failure._tag, "MemorySystemError")
    for (const part of [
      "ttlSeconds must be seconds",
      "episodic.defaultTopK must be a whole number",
      "semantic.maxFacts is not a field",
      "colour is not a field"
    ]) {
      assert.include(failure.message, part)
    }
    assert.include(failure.hint ?? "", "consolidation")
  })

  it("rejects fractions above 1 in total and weights that are all 0", () => {
    const message = (options: MemoryConfig.Options) =>
      Either.getOrThrow(Either.flip(MemoryConfig.make(options))).message
    assert.include(
      message({ working: { recentTurnsFraction: 0.5 } }),
      "working must have fractions of at most 1 in total"
    )
    assert.include(
      message({ episodic: { recencyWeight: 0, importanceWeight: 0, relevanceWeight: 0 } }),
      "episodic must have a weight above 0"
    )
  })

  it("rejects groups that are not objects", () => {
    for (const working of [null, 1, "x", []]) {
      assert.isTrue(Either.isLeft(MemoryConfig.make({ working } as unknown as MemoryConfig.Options)), String(working))
    }
  })
})
