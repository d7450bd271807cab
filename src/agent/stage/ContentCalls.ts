/**
 * Gives the files of a request to the model, in the message that asks.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Effect from "effect/Effect"
import type { ResolvedFile } from "../../content/Content.js"
import type { RunId } from "../../domain/Ids.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as Run from "../../observability/Run.js"
import type * as ModelCall from "../../strategy/definition/ModelCall.js"
import type { State } from "../definition/Stage.js"

interface Held {
  readonly runId: RunId | undefined
  readonly files: ReadonlyArray<ResolvedFile>
}

/** The files of a run, for those that give its work to other agents. */
export class RunFiles extends Ambient.Reference<RunFiles>()("effect-lexigram/agent/ContentCalls/RunFiles", {
  defaultValue: (): Held => ({ runId: undefined, files: [] })
}) {}

/** The files of the current run; none of a run around it. */
export const current: Effect.Effect<ReadonlyArray<ResolvedFile>> = Effect.zipWith(Run.Run, RunFiles, (run, held) =>
  run.runId === held.runId ? held.files : []
)

/** The message of the request: its text, as it is or inside the prompt of a strategy; else the last of the user. */
const placeOf = (messages: ReadonlyArray<Message>, input: string): number => {
  const last = (is: (content: unknown) => boolean): number =>
    messages.findLastIndex(({ content, role }) => role === "user" && is(content))
  const same = last((content) => content === input)
  if (same >= 0) return same
  const inside = last((content) => typeof content === "string" && content.includes(input))
  return inside >= 0 ? inside : last(() => true)
}

/** Adds the files of the run to each of its model calls. `names` stands for them in an input without text. */
export const make = (
  { input, run: { runId } }: State,
  files: ReadonlyArray<ResolvedFile>,
  names: string
): ModelCall.ModelCallInterceptor => {
  const parts = files.map(
    ({ data, fileName, mediaType }): Prompt.FilePartEncoded => ({
      type: "file",
      mediaType,
      data,
      ...(fileName === undefined ? {} : { fileName })
    })
  )
  const made = new WeakMap<Message, Message>()
  /** The same for the same message, so that it is counted once. */
  const withFiles = (message: Prompt.UserMessageEncoded): Message => {
    const known = made.get(message)
    if (known !== undefined) return known
    const { content } = message
    const texts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content
    const next: Message = { ...message, content: content === names ? parts : [...texts, ...parts] }
    made.set(message, next)
    return next
  }
  let place = -1
  let asking: Message | undefined
  return (request, next) =>
    Effect.flatMap(Run.Run, (run) => {
      if (run.runId !== runId) return next(request)
      const { messages } = request
      if (asking === undefined || messages[place] !== asking) {
        place = placeOf(messages, input)
        asking = messages[place]
      }
      const at = place
      return next(
        asking === undefined
          ? request
          : {
              ...request,
              messages: messages.map((message, index) =>
                index === at ? withFiles(message as Prompt.UserMessageEncoded) : message
              )
            }
      )
    })
}
