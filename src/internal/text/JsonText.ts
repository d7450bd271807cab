/** Extracts JSON from the text of a model. */
import * as Either from "effect/Either"
import * as JsonRepair from "./JsonRepair.js"

// The first line excludes line breaks: two places for one would make blank lines take quadratic time.
const fence = /^\s*```[a-zA-Z]*[ \t\r]*\n([\s\S]*?)\n?```\s*$/

/** Reads JSON that is bare, fenced, or inside a sentence. `Left` says why there is none. */
export const read = (text: string): Either.Either<unknown, string> => {
  const inner = fence.exec(text)?.[1] ?? text
  const strict = JsonRepair.decode(inner)
  if (Either.isRight(strict)) return Either.right(strict.right)
  const starts = [inner.indexOf("{"), inner.indexOf("[")].filter((index) => index >= 0)
  const start = starts.length === 0 ? -1 : Math.min(...starts)
  const end = Math.max(inner.lastIndexOf("}"), inner.lastIndexOf("]"))
  if (start < 0) return Either.left("the answer is not JSON")
  const slice = end > start ? inner.slice(start, end + 1) : inner.slice(start)
  return Either.mapLeft(JsonRepair.parse(slice), () => "the answer is not valid JSON")
}
