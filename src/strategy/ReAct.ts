/**
 * Reasoning and acting in turns (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"): thought, action,
 * observation, until a final answer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Body, FinishReason } from "../domain/AgentEvent.js"
import * as Usage from "../domain/Usage.js"
import * as ReActStream from "../internal/ReActStream.js"
import * as LlmClient from "../llm/LlmClient.js"
import * as Run from "../observability/Run.js"
import * as ReActPrompt from "../prompt/ReActPrompt.js"
import { ToolRunner } from "../tool/ToolRunner.js"
import * as ModelCall from "./ModelCall.js"
import * as Progress from "./Progress.js"
import * as ReActText from "./ReActText.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "./Strategy.js"
import * as StrategyModule from "./Strategy.js"
import * as ToolLoop from "./ToolLoop.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "react"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ToolLoop.LoopOptions {
  /**
   * `native` (default): the model calls tools by its provider's means, several at once if it likes. `text`: it writes
   * `THOUGHT / ACTION / ACTION_INPUT / FINAL_ANSWER`, one action a step, for models without native calls.
   */
  readonly format?: "native" | "text" | undefined
}

const join = (system: string, rules: string): string => (system === "" ? rules : `${system}\n\n${rules}`)

/**
 * Deltas of a completion in the text protocol: the final answer that `ReActText.parse` finds in the whole is text for the user, what
 * stands before it, or before the end of an action, is reasoning. What only the end of the completion decides comes with that.
 */
const makeDeltas = (
  tools: ReadonlyArray<string>
): ((parts: ReadonlyArray<LlmClient.LlmPart>) => ReadonlyArray<Body>) => {
  let bodies: Array<Body> = []
  let ofPart = 0
  const pieces: Array<string> = []
  const add = (_tag: "ReasoningDelta" | "TextDelta") => (text: string) => {
    const last = bodies.length > ofPart ? bodies[bodies.length - 1] : undefined
    if (last?._tag === _tag) bodies[bodies.length - 1] = { _tag, text: last.text + text }
    else bodies.push({ _tag, text })
  }
  const stream = ReActStream.make({ reasoning: add("ReasoningDelta"), answer: add("TextDelta") })
  const finish = () => {
    const parsed = ReActText.parse(pieces.join(""), { tools })
    const isAnswer = parsed._tag === "FinalAnswer"
    const rest = isAnswer ? parsed.answer.slice(stream.answered()) : parsed.cut.text.slice(stream.reasoned())
    if (rest !== "") bodies.push({ _tag: isAnswer ? "TextDelta" : "ReasoningDelta", text: rest })
  }
  return (parts) => {
    bodies = []
    for (const part of parts) {
      ofPart = bodies.length
      if (part.type === "text-delta") {
        pieces.push(part.delta)
        stream.push(part.delta)
      } else if (part.type === "reasoning-delta" && part.delta !== "") {
        bodies.push({ _tag: "ReasoningDelta", text: part.delta })
      } else if (part.type === "finish") finish()
    }
    return bodies
  }
}

const textProgram =
  (options: Options) =>
  (task: Task): Effect.Effect<Answer, StrategyBaseError, StrategyServices> =>
    Effect.gen(function* () {
      const resolved = ToolLoop.resolve(options, task)
      const run = yield* Run.Run
      const runner = yield* ToolRunner
      const model = yield* ModelCall.bind(task, { timeout: resolved.llmTimeout })
      const known = ToolLoop.writtenNames(task.tools)
      const opening = ModelCall.openingMessages(task, join(task.system, ReActPrompt.text(task.tools.definitions)))
      const first = opening.length - 1
      const stop = [...new Set([...(task.settings.stop ?? []), ...ReActText.stopSequences])]
      let messages = opening
      let usage: Usage.Usage = Usage.empty
      let toolCalls = 0
      let lastText = ""
      const detector = Progress.makeCircleDetector()

      const answer = (text: string, reason: FinishReason, step: number, said?: LlmClient.Message) =>
        ToolLoop.end(model, task, { strategyName: NAME, step, first, messages, text, reason, said })

      for (let step = 1; step <= resolved.maxIterations; step++) {
        yield* run.emit({ _tag: "StepStarted", step })
        const response = yield* model.call({ messages, settings: { stop } }, { step, deltas: makeDeltas(known) })
        usage = Usage.add(usage, response.usage)
        const parsed = ReActText.parse(LlmClient.text(response), { tools: known })
        const reason = ToolLoop.finishReason(response.finishReason)
        const thought = parsed.thought.trim()
        if (thought !== "") {
          lastText = thought
          yield* run.emit({ _tag: "Thought", step, text: thought })
        }
        const said: LlmClient.Message = { role: "assistant", content: parsed.cut.text }

        if (parsed._tag === "FinalAnswer") return yield* answer(parsed.answer, reason, step, said)

        if (parsed._tag === "Malformed") {
          // Asked again, a filter would filter again.
          if (reason === "content-filter" || (reason === "length" && parsed.reason === "empty")) {
            return yield* answer(parsed.cut.text, reason, step, parsed.cut.text === "" ? undefined : said)
          }
          if (parsed.reason === "no-marker" && parsed.cut.text !== "") lastText = parsed.cut.text
          messages = [
            ...messages,
            ...(parsed.cut.text === "" ? [] : [said]),
            { role: "user", content: ReActText.observation(parsed.message) }
          ]
          continue
        }

        const call = { id: `text_${step}`, name: parsed.tool, params: ReActText.paramsOf(parsed) }
        const outcome = yield* runner.run(task.tools, call, resolved.toolOptions(step))
        toolCalls += 1
        messages = [...messages, said, { role: "user", content: ReActText.observation(outcome.observation) }]
        const stuck = ToolLoop.checkProgress(NAME, resolved, detector, step, call, outcome)
        if (stuck !== undefined) {
          if (resolved.onLimit === "answer") return yield* answer(lastText, "limit", step)
          return yield* stuck
        }
        if (resolved.stopWhen?.({ step, usage, toolCalls, text: lastText, last: [outcome] }) === true) {
          return yield* answer(lastText, "stop-condition", step)
        }
      }
      if (resolved.onLimit === "answer") return yield* answer(lastText, "limit", resolved.maxIterations)
      return yield* ToolLoop.exceeded(NAME, resolved)
    })

/**
 * The default strategy.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy =>
  StrategyModule.make(
    NAME,
    options.format === "text"
      ? textProgram(options)
      : ToolLoop.program({
          name: NAME,
          thoughts: true,
          system: (task) => (task.tools.definitions.length === 0 ? task.system : join(task.system, ReActPrompt.NATIVE)),
          options
        })
  )
