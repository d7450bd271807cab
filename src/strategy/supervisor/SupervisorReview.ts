/**
 * The reviews of a supervisor, as JSON or text.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ReplyForm from "../definition/ReplyForm.js"

/**
 * The verdict of a review: the reports suffice for an answer, or more work is needed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = Schema.Struct({
  verdict: Schema.Literal("done", "more").annotations({ description: "Whether an answer can be written" }),
  reason: Schema.String.annotations({ description: "Why, in one or two sentences" }),
  instructions: Schema.String.annotations({ description: "With `more`: what exactly is still to be done; else empty" })
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

const fieldLine = /^\W{0,8}(VERDICT|REASON|INSTRUCTIONS)\W{0,4}:\W{0,4}/i

/** The text of each field, up to the next one. Only the first field of a name counts; later ones are quoted. */
const fieldsOf = (lines: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const fields = new Map<string, Array<string>>()
  let current: Array<string> = []
  for (const line of lines) {
    const match = fieldLine.exec(line)
    const name = match?.[1]?.toUpperCase()
    if (match === null || name === undefined || fields.has(name)) current.push(line)
    else {
      current = [line.slice(match[0].length)]
      fields.set(name, current)
    }
  }
  return new Map(Array.from(fields, ([name, rest]) => [name, rest.join("\n").trim()] as const))
}

/**
 * Reads a review written as text: `VERDICT: DONE`, or `VERDICT: MORE` with `REASON:` and `INSTRUCTIONS:`. The verdict
 * is one of the two words, alone on the first line with text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseVerdict = (text: string): Either.Either<Verdict, string> => {
  const lines = text.split(/\r?\n/)
  const first = lines.findIndex((line) => /[\p{L}\p{N}]/u.test(line))
  const match = first < 0 ? null : fieldLine.exec(lines[first] as string)
  const word =
    match?.[1]?.toUpperCase() === "VERDICT"
      ? (lines[first] as string)
          .slice(match[0].length)
          .replace(/[\s*_`.]/g, "")
          .toLowerCase()
      : undefined
  if (word !== "done" && word !== "more") {
    return Either.left("the first line must be `VERDICT: DONE` or `VERDICT: MORE`")
  }
  const fields = fieldsOf(lines.slice(first))
  return Either.right({
    verdict: word,
    reason: fields.get("REASON") ?? "",
    instructions: fields.get("INSTRUCTIONS") ?? ""
  })
}

export const form = ReplyForm.make({ name: "review", schema: Verdict, text: parseVerdict })
