import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as StudioApis from "../support/StudioApis.js"

const echo = Tool.make("echo", {
  description: "Says it again",
  parameters: { what: Schema.Unknown },
  handler: ({ what }) => Effect.succeed(what)
})

const posts = [
  "/studio/api/memory/assemble",
  "/studio/api/memory/consolidate",
  "/studio/api/sessions/s/merge/preview",
  "/studio/api/sessions/s/merge",
  "/studio/api/tools/echo/try",
  "/studio/api/skills/echo/try"
]

const gets: ReadonlyArray<(text: string) => string> = [
  (text) => `/studio/api/memory/facts?subject=${text}&cursor=${text}`,
  (text) => `/studio/api/memory/facts?text=${text}&at=${text}`,
  (text) => `/studio/api/sessions/${text}/turns?before=${text}`,
  (text) => `/studio/api/checkpoints/${text}/diff/${text}`,
  (text) => `/studio/api/prompts/${text}/diff?from=${text}`
]

/** Members that the endpoints know, with any values. */
const body = FastCheck.oneof(
  FastCheck.jsonValue(),
  FastCheck.record(
    {
      params: FastCheck.jsonValue(),
      question: FastCheck.oneof(FastCheck.fullUnicodeString(), FastCheck.jsonValue()),
      sessionId: FastCheck.oneof(FastCheck.fullUnicodeString(), FastCheck.constant("s")),
      budget: FastCheck.oneof(FastCheck.integer(), FastCheck.double({ noNaN: true, noDefaultInfinity: true })),
      from: FastCheck.oneof(FastCheck.fullUnicodeString(), FastCheck.constant("branch")),
      decisions: FastCheck.oneof(
        FastCheck.jsonValue(),
        FastCheck.array(
          FastCheck.record({ path: FastCheck.fullUnicodeString(), take: FastCheck.constantFrom("ours", "theirs") })
        )
      ),
      seen: FastCheck.fullUnicodeString(),
      confirm: FastCheck.boolean()
    },
    { requiredKeys: [] }
  )
)

it.scopedLive("no request makes the studio fail", () =>
  Effect.gen(function* () {
    const { ask } = yield* StudioApis.start({
      agents: [Agent.make("helper", { tools: ToolSet.make(echo) })],
      others: Layer.orDie(DefaultMemory.layer()) as never,
      sessions: Layer.orDie(Sessions.layer()),
      // The requests of this test are more than a caller may make in a minute.
      limits: { requestsPerMinute: 1_000_000 }
    })
    yield* ask("/v1/sessions", { user: StudioApis.dev, body: { id: "s" } })
    yield* ask("/v1/sessions/s/fork", { user: StudioApis.dev, body: { id: "branch" } })
    const known = [200, 400, 404, 409, 501]
    for (const [path, given] of FastCheck.sample(FastCheck.tuple(FastCheck.constantFrom(...posts), body), 300)) {
      const { status, text } = yield* ask(path, { user: StudioApis.dev, body: JSON.stringify(given) })
      assert.include(known, status, `${path} ${JSON.stringify(given)} ${text}`)
    }
    const texts = FastCheck.sample(FastCheck.fullUnicodeString({ minLength: 1 }), 40)
    for (const text of texts) {
      for (const get of gets) {
        const path = get(encodeURIComponent(text))
        const answer = yield* ask(path, { user: StudioApis.dev })
        assert.include(known, answer.status, `${path} ${answer.text}`)
      }
    }
  })
)
