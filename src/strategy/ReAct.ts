/**
 * Reasoning and acting in turns (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"): thought, action,
 * observation, until a final answer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Body } from "../domain/AgentEvent.js"
import * as Usage from "../domain/Usage.js"
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
 * Deltas of a completion in the text protocol: what stands behind the final answer's marker is text for the user, everything before it
 * is reasoning. Once an action stands in the completion, no answer in it counts. Work per delta is bounded by the line it is in.
 */
const makeDeltas = (): ((parts: ReadonlyArray<LlmClient.LlmPart>) => ReadonlyArray<Body>) => {
  const finalMarker = /^[\s*_#>-]*final[_ ]?answer\s*\d*\s*[*_]*\s*:[*_]*\s?/i
  const actionMarker = /^[\s*_#>-]*action\s*\d*\s*[*_]*\s*:/i
  let line = ""
  let mode: "thinking" | "answering" | "acting" = "thinking"
  const take = (text: string, bodies: Array<Body>) => {
    if (mode === "answering") {
      bodies.push({ _tag: "TextDelta", text })
      return
    }
    let rest = text
    while (rest !== "") {
      const newline = rest.indexOf("\n")
      line += newline < 0 ? rest : rest.slice(0, newline + 1)
      rest = newline < 0 ? "" : rest.slice(newline + 1)
      if (mode === "thinking") {
        const marker = finalMarker.exec(line.slice(0, 64))
        if (marker !== null) {
          const answer = line.slice(marker[0].length) + rest
          mode = "answering"
          line = ""
          if (answer !== "") bodies.push({ _tag: "TextDelta", text: answer })
          return
        }
        if (actionMarker.test(line.slice(0, 64))) mode = "acting"
      }
      if (newline >= 0) {
        bodies.push({ _tag: "ReasoningDelta", text: line })
        line = ""
      }
    }
  }
  return (parts) => {
    const bodies: Array<Body> = []
    for (const part of parts) {
      if (part.type === "text-delta" && part.delta !== "") take(part.delta, bodies)
      else if (part.type === "reasoning-delta" && part.delta !== "") {
        bodies.push({ _tag: "ReasoningDelta", text: part.delta })
      } else if (part.type === "text-end" && mode !== "answering" && line !== "") {
        bodies.push({ _tag: "ReasoningDelta", text: line })
        line = ""
      }
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
      const { definitions, tools } = task.tools
      const names = definitions.map((definition) => definition.name)
      const known = Array.from(new Set([...names, ...tools.map((tool) => tool.name)]))
      const opening = ModelCall.openingMessages(task, join(task.system, ReActPrompt.text(definitions)))
      const first = opening.length - 1
      const stop = [...new Set([...(task.settings.stop ?? []), ...ReActText.stopSequences])]
      let messages = opening
      let usage: Usage.Usage = Usage.empty
      let toolCalls = 0
      let lastText = ""
      const detector = Progress.makeCircleDetector()

      for (let step = 1; step <= resolved.maxIterations; step++) {
        yield* run.emit({ _tag: "StepStarted", step })
        const response = yield* model.call({ messages, settings: { stop } }, { step, deltas: makeDeltas() })
        usage = Usage.add(usage, response.usage)
        const parsed = ReActText.parse(LlmClient.text(response), { tools: known })
        const thought = parsed.thought.trim()
        if (thought !== "") {
          lastText = thought
          yield* run.emit({ _tag: "Thought", step, text: thought })
        }
        const said: LlmClient.Message = { role: "assistant", content: parsed.cut.text }

        if (parsed._tag === "FinalAnswer") {
          const reason = ToolLoop.finishReason(response.finishReason)
          if (task.output === undefined) {
            return { text: parsed.answer, reason, messages: [...messages.slice(first), said] }
          }
          const shaped = yield* ModelCall.structured(model, task.output, {
            strategyName: NAME,
            step,
            messages,
            text: parsed.answer
          })
          const last: LlmClient.Message = { role: "assistant", content: shaped.text }
          return { text: shaped.text, output: shaped.output, reason, messages: [...messages.slice(first), last] }
        }

        if (parsed._tag === "Malformed") {
          messages = [
            ...messages,
            ...(parsed.cut.text === "" ? [] : [said]),
            { role: "user", content: ReActText.observation(parsed.message) }
          ]
          continue
        }

        const call = { id: `text_${step}`, name: parsed.tool, params: parsed.input }
        const outcome = yield* runner.run(task.tools, call, resolved.toolOptions(step))
        toolCalls += 1
        messages = [...messages, said, { role: "user", content: ReActText.observation(outcome.observation) }]
        const stuck = ToolLoop.checkProgress(NAME, resolved, detector, call, outcome)
        if (stuck !== undefined) {
          if (resolved.onLimit === "answer") {
            return { text: lastText, reason: "limit", messages: messages.slice(first) }
          }
          return yield* stuck
        }
        if (resolved.stopWhen?.({ step, usage, toolCalls, text: lastText, last: [outcome] }) === true) {
          return { text: lastText, reason: "stop-condition", messages: messages.slice(first) }
        }
      }
      return yield* ToolLoop.atLimit(NAME, resolved, lastText, messages.slice(first))
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
