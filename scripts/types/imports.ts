/** The imports of the other programs: what they cost by themselves. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Agent, Tool } from "effect-lexigram"

export type Imported = [typeof Effect.succeed, typeof Schema.String, typeof Agent.make, typeof Tool.make]
