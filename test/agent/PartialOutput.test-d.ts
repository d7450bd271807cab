import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { expectTypeOf, test } from "vitest"
import * as PartialOutput from "../../src/agent/PartialOutput.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"

test("a partial output has the encoded type, with all that may be missing", () => {
  const schema = Schema.Struct({
    at: Schema.Date,
    level: Schema.Literal("easy", "hard"),
    steps: Schema.Array(Schema.Struct({ minutes: Schema.Number })),
    note: Schema.NullOr(Schema.String)
  })
  const events: Stream.Stream<AgentEvent, "failed", "needed"> = Stream.empty
  expectTypeOf(PartialOutput.fromEvents(schema)(events)).toEqualTypeOf<
    Stream.Stream<
      {
        readonly at?: string
        readonly level?: string
        readonly steps?: ReadonlyArray<{ readonly minutes?: number }>
        readonly note?: string | null
      },
      "failed",
      "needed"
    >
  >()
})
