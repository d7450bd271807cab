/**
 * Three mistakes that `scripts/lint-effect.ts` must find: without them, a rule that stops reporting would look like
 * clean sources.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

class Db extends Context.Tag("Db")<Db, number>() {}

type Method = Effect.Effect<void, never, Db>

export class Store extends Context.Tag("Store")<Store, { readonly a: Method; readonly b: Method }>() {}

export const program = Effect.gen(function* () {
  Effect.void
  yield* Effect.fail("")
})
