/**
 * An evaluator that asks a model.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ReflexionPrompts from "../../prompt/defaults/ReflexionPrompts.js"
import { type Service, Verdict } from "../definition/Evaluator.js"
import * as Reasoning from "../definition/Reasoning.js"
import * as ReplyForm from "../definition/ReplyForm.js"

const tokenLine = /^[*_`]{0,3}(SUCCESS|FAILURE)[*_`]{0,3}:[*_`]{0,3}[ \t]*([\s\S]*)/
const scoreLine = /^[*_`]{0,3}SCORE:[*_`]{0,3}[ \t]*([0-9.]{1,8})[*_`]{0,3}[ \t]*$/m

const readText = (text: string): Either.Either<Verdict, string> => {
  const match = tokenLine.exec(text.trim())
  if (match === null) return Either.left("the first line begins neither with SUCCESS: nor with FAILURE:")
  const rest = match[2] ?? ""
  const scored = scoreLine.exec(rest)
  const score = scored === null ? Number.NaN : Number(scored[1])
  const reason = scored === null ? rest : rest.slice(0, scored.index) + rest.slice(scored.index + scored[0].length)
  return Either.right({
    success: match[1] === "SUCCESS",
    ...(score >= 0 && score <= 1 ? { score } : {}),
    reason: reason.trim()
  })
}

/**
 * The reply to the Evaluate step: JSON, or text whose first line begins with `SUCCESS:` or `FAILURE:`. Later text does
 * not affect the verdict.
 *
 * @since 0.1.0
 * @category conversions
 */
export const reply: ReplyForm.ReplyForm<Verdict> = ReplyForm.make({ name: "verdict", schema: Verdict, text: readText })

/**
 * Judges an answer in one model call with the prompt `ReflexionAgent/Evaluate`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const evaluator: Service = {
  name: "model",
  evaluate: (task, answer) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { value } = yield* reasoning.askFor(
        ReflexionPrompts.Evaluate,
        { task: task.input, outcome: answer.text.trim() === "" ? "(nothing)" : answer.text },
        reply
      )
      return value
    })
}
