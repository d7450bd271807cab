/** The customer of a run: who it is, and what the desk remembers. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Requester } from "effect-lexigram"
import { MemoryBlock } from "effect-lexigram/memory"

export class NotSignedIn extends Schema.TaggedError<NotSignedIn>()("NotSignedIn", {}) {
  override get message() {
    return "The customer is not signed in"
  }
}

/** The user of the run. No argument of a model can name another one. */
export const current = Effect.flatMap(Requester.Requester, ({ userId }) =>
  userId === undefined ? new NotSignedIn() : Effect.succeed(userId)
)

export const Language = Schema.Literal("English", "German", "French")

/** Every agent of the desk sees it; the front desk may change it. */
export const preferences = MemoryBlock.make("preferences", {
  description: "How the customer wants to be answered",
  fields: { language: Language, name: Schema.String.pipe(Schema.maxLength(60)) }
})
