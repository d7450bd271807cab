/** Clients of OpenAI's API. */
import * as Effect from "effect/Effect"
import OpenAI6, { type APIError } from "openai"
import OpenAI7 from "openai-v7"

/** Version 7 asks for Node 22; what tests use of it works on Node 20 too. */
export const versions = [
  ["6", OpenAI6],
  ["7", OpenAI7 as unknown as typeof OpenAI6]
] as const

/** The failure of a call. */
export const failureOf = (run: () => PromiseLike<unknown>): Effect.Effect<APIError> =>
  Effect.promise(async () => {
    try {
      await run()
    } catch (error) {
      return error as APIError
    }
    throw new Error("It did not fail")
  })
