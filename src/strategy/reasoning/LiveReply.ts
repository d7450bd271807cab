/**
 * Live events of one model call: deltas as they arrive, screened where the run has a screen, and retracted when the
 * reply turns out not to be an answer.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Body } from "../../domain/AgentEvent.js"
import * as Stepwise from "../../internal/fiber/Stepwise.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as EventScreen from "../../observability/EventScreen.js"
import type * as Run from "../../observability/Run.js"

const maxResult = 16_384

/** A value whose JSON is longer than the bound becomes the beginning of its JSON. */
const bounded = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? "null"
  return text.length <= maxResult ? value : `${text.slice(0, maxResult).replace(/[\ud800-\udbff]$/, "")}…`
}

/** The calls that the provider ran itself, as events, each with its result. */
const providerTools = (step: number) => {
  const params = new Map<string, unknown>()
  const told = new Set<string>()
  return (parts: ReadonlyArray<LlmClient.LlmPart | LlmClient.Content>): ReadonlyArray<Body> => {
    const bodies: Array<Body> = []
    for (const part of parts) {
      if (part.type === "tool-call" && part.providerExecuted === true && !params.has(part.id))
        params.set(part.id, part.params)
      if (part.type !== "tool-result" || !params.has(part.id) || told.has(part.id)) continue
      const { id, isFailure, name, result } = part
      bodies.push({
        _tag: "ProviderToolUsed",
        step,
        id,
        name,
        params: params.get(id),
        result: bounded(result),
        isFailure
      })
      told.add(id)
    }
    return bodies
  }
}

/** Turns the parts of a reply into events. */
export type Deltas = (parts: ReadonlyArray<LlmClient.LlmPart>) => ReadonlyArray<Body>

/** Emits text as the given event, and reasoning as `ReasoningDelta`. */
const makeDeltas =
  (textTag: "TextDelta" | "ReasoningDelta"): Deltas =>
  (parts) => {
    const bodies: Array<Body> = []
    for (const part of parts) {
      if (part.type === "text-delta") {
        if (part.delta !== "") bodies.push({ _tag: textTag, text: part.delta })
      } else if (part.type === "reasoning-delta" && part.delta !== "") {
        bodies.push({ _tag: "ReasoningDelta", text: part.delta })
      }
    }
    return bodies
  }

export const answerDeltas: Deltas = makeDeltas("TextDelta")

export const reasoningDeltas: Deltas = makeDeltas("ReasoningDelta")

const isText = ({ _tag }: Body): boolean => _tag === "TextDelta"

/** Whether the model calls tools or was paused, so that its text is not the answer. */
const continues = (response: LlmClient.LlmResponse): boolean =>
  response.finishReason === "pause" || LlmClient.toolCalls(response).length > 0

/** Passes deltas through the screen of a run. Long texts are screened in steps. */
const screenDeltas = (screen: Run.Screen, deltas: Deltas) => {
  const texts = { TextDelta: screen.open(), ReasoningDelta: screen.open() }
  const pace = new Stepwise.Pace()
  return {
    *deltas(parts: ReadonlyArray<LlmClient.LlmPart>): Stepwise.Steps<ReadonlyArray<Body>> {
      const visible: Array<Body> = []
      for (const body of deltas(parts)) {
        if (body._tag !== "TextDelta" && body._tag !== "ReasoningDelta") {
          visible.push(body)
          continue
        }
        const text = yield* EventScreen.pushText(texts[body._tag], body.text, pace)
        if (text !== "") visible.push({ _tag: body._tag, text })
      }
      return visible
    },
    /** The text that the screen still held back. */
    rest: (): ReadonlyArray<Body> => {
      const rest: Array<Body> = []
      for (const tag of ["ReasoningDelta", "TextDelta"] as const) {
        const text = texts[tag].end()
        if (text !== "") rest.push({ _tag: tag, text })
      }
      return rest
    }
  }
}

/** The live events of one call. */
export interface LiveReply {
  readonly emit: (parts: ReadonlyArray<LlmClient.LlmPart>) => Effect.Effect<void>
  /** Emits the text that was held back, and retracts the text of a reply that is not an answer. */
  readonly finish: (response: LlmClient.LlmResponse) => void
}

export const make = (run: Run.Service, step: number, deltas: Deltas = answerDeltas): LiveReply => {
  const screened = run.live && run.screen !== undefined ? screenDeltas(run.screen, deltas) : undefined
  const used = providerTools(step)
  let isTextVisible = false
  const show = (bodies: ReadonlyArray<Body>): Effect.Effect<void> => {
    isTextVisible ||= bodies.some(isText)
    return run.emitAll(bodies)
  }
  return {
    emit: (parts) => {
      const tools = used(parts)
      const showAll = (bodies: ReadonlyArray<Body>) => show(tools.length === 0 ? bodies : [...tools, ...bodies])
      return screened === undefined
        ? showAll(deltas(parts))
        : Effect.flatMap(Stepwise.turning(screened.deltas(parts)), showAll)
    },
    finish: (response) => {
      for (const body of used(response.content)) void run.unsafeEmit(body)
      const rest = screened?.rest() ?? []
      for (const body of rest) void run.unsafeEmit(body)
      if ((isTextVisible || rest.some(isText)) && continues(response)) {
        void run.unsafeEmit({ _tag: "TextRetracted", step })
      }
    }
  }
}
