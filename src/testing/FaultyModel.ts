/**
 * Makes a model misbehave as real ones do, by a seed: the same seed gives the same faults to the same calls.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CallGate from "../llm/model/CallGate.js"
import * as LlmClient from "../llm/model/LlmClient.js"
import * as LlmError from "../llm/model/LlmError.js"
import * as PartAssembler from "../llm/model/PartAssembler.js"
import * as FaultDice from "./FaultDice.js"

/**
 * How likely each fault is, from 0 (the default) to 1. `fail`, `hang`, `truncate` are of calls; `delay` of calls and of
 * parts; all others of the parts of an answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Faults {
  /** The call fails at once, by an error that providers have: some may be tried again, others not. */
  readonly fail?: number | undefined
  /** The call never answers. */
  readonly hang?: number | undefined
  /** The answer comes late. */
  readonly delay?: number | undefined
  /** The answer breaks off: the call fails after some of its parts, or ends as one that has reached its length. */
  readonly truncate?: number | undefined
  /** A part comes twice. */
  readonly repeat?: number | undefined
  /** A part comes after the next one. */
  readonly reorder?: number | undefined
  /** A part is damaged: letters of a text, the name, id or parameters of a call, the reason or usage of the end. */
  readonly corrupt?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Faults {
  readonly seed: number
  /** The longest delay; default 1 second. */
  readonly maxDelay?: Duration.DurationInput | undefined
}

/**
 * A fault that was done, and the number of its call, from 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Injected {
  readonly call: number
  readonly fault: keyof Faults
}

/**
 * Tells what was done.
 *
 * @since 0.1.0
 * @category models
 */
export interface Observer {
  readonly injected: Effect.Effect<ReadonlyArray<Injected>>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class FaultyModel extends Context.Tag("effect-lexigram/testing/FaultyModel")<FaultyModel, Observer>() {}

const faults = ["fail", "hang", "delay", "truncate", "repeat", "reorder", "corrupt"] as const

type Part = LlmClient.LlmPart

type Dice = FaultDice.FaultDice<keyof Faults>

const failure = (dice: Dice, provider: string): LlmError.LlmError => {
  const common = { provider, message: "The provider failed, as a test wants it" }
  return dice.pick<() => LlmError.LlmError>([
    () => new LlmError.LlmUnavailableError(common),
    () => new LlmError.LlmRateLimitError(common),
    () => new LlmError.LlmConnectionError({ ...common, sent: true }),
    () => new LlmError.LlmTimeoutError({ ...common, phase: "server" }),
    () => new LlmError.LlmMalformedResponseError(common),
    () => new LlmError.LlmContentPolicyError(common),
    () => new LlmError.LlmInvalidRequestError(common),
    () => new LlmError.LlmContextOverflowError(common)
  ])()
}

/** A text as several deltas. */
const inPieces = (part: Part, dice: Dice): ReadonlyArray<Part> => {
  if ((part.type !== "text-delta" && part.type !== "reasoning-delta") || part.delta.length < 2) return [part]
  const pieces: Array<Part> = []
  for (let from = 0; from < part.delta.length; ) {
    const to = from + 1 + dice.below(Math.ceil(part.delta.length / 3))
    pieces.push({ ...part, delta: part.delta.slice(from, to) })
    from = to
  }
  return pieces
}

const damaged = (part: Part, dice: Dice): Part => {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return { ...part, delta: FaultDice.damagedText(part.delta, dice) }
    case "tool-call":
      return dice.pick<() => Part>([
        () => ({ ...part, name: FaultDice.damagedText(part.name, dice) }),
        () => ({ ...part, id: dice.pick(["", "call_1", "\u0000"]) }),
        () => ({ ...part, params: dice.pick<unknown>([null, [], "", 7, { __proto__: null, constructor: {} }]) }),
        () => ({ ...part, params: FaultDice.damagedText(JSON.stringify(part.params) ?? "", dice) })
      ])()
    case "finish":
      return dice.pick<Part>([
        { ...part, reason: "unknown" },
        { ...part, usage: {} },
        { ...part, reason: part.reason === "stop" ? "tool-calls" : "stop" }
      ])
    default:
      return part
  }
}

/** The parts as they come, without those after which the answer breaks off. */
const spoiled = (parts: ReadonlyArray<Part>, dice: Dice): ReadonlyArray<Part> => {
  const cut = parts
    .flatMap((part) => inPieces(part, dice))
    .flatMap((part) => (dice.happens("repeat") ? [part, part] : [part]))
    .map((part) => (dice.happens("corrupt") ? damaged(part, dice) : part))
  for (let at = 0; at + 1 < cut.length; at++) {
    if (!dice.happens("reorder")) continue
    const [one, other] = [cut[at] as Part, cut[at + 1] as Part]
    cut[at] = other
    cut[at + 1] = one
  }
  return cut
}

/** Where an answer breaks off: after how many of its parts, and by what. */
const breakOf = (
  parts: ReadonlyArray<Part>,
  dice: Dice,
  provider: string
): { readonly after: number; readonly error?: LlmError.LlmError } => {
  if (!dice.happens("truncate")) return { after: parts.length }
  const after = dice.below(parts.length)
  return dice.pick([true, false])
    ? { after }
    : { after, error: new LlmError.LlmConnectionError({ provider, message: "The stream broke off", sent: true }) }
}

/**
 * The client with faults. A chance beyond 0 to 1 throws a `TypeError`, because faults are constants.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  client: LlmClient.Service,
  options: Options
): LlmClient.Service & { readonly observer: Observer } => {
  FaultDice.check("FaultyModel", options, faults)
  const { provider } = client
  const injected: Array<Injected> = []
  let calls = 0

  const deliver = Effect.fnUntraced(function* (
    response: LlmClient.LlmResponse,
    dice: Dice,
    onParts: LlmClient.OnParts | undefined
  ) {
    const parts = spoiled(LlmClient.partsOf(response), dice)
    const { after, error } = breakOf(parts, dice, provider)
    const assembler = PartAssembler.make({ provider, model: response.model })
    for (const part of parts.slice(0, after)) {
      yield* dice.delay("delay")
      assembler.push(part)
      if (onParts !== undefined) yield* onParts([part])
    }
    if (error !== undefined) return yield* error
    if (!assembler.finished()) {
      const end: Part = { type: "finish", reason: "length", usage: response.usage }
      assembler.push(end)
      if (onParts !== undefined) yield* onParts([end])
    }
    return assembler.response()
  })

  return {
    ...client,
    observer: { injected: Effect.sync(() => injected.slice()) },
    complete: (request, given = {}) =>
      Effect.suspend((): Effect.Effect<LlmClient.LlmResponse, LlmError.LlmError> => {
        const call = ++calls
        const dice = new FaultDice.FaultDice<keyof Faults>(
          options,
          call,
          (fault) => void injected.push({ call, fault })
        )
        const { onParts, ...rest } = given
        if (dice.happens("hang")) return Effect.never
        const answer = dice.happens("fail")
          ? Effect.fail(failure(dice, provider))
          : Effect.flatMap(client.complete(request, rest), (response) => deliver(response, dice, onParts))
        return Effect.zipRight(dice.delay("delay"), answer)
      })
  }
}

/**
 * The client in context with faults, and what tells of them.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { FaultyModel, TestModel } from "effect-lexigram/testing"
 * import * as Layer from "effect/Layer"
 *
 * const model = FaultyModel.layer({ seed: 7, fail: 0.2, truncate: 0.1, corrupt: 0.05 }).pipe(
 *   Layer.provide(TestModel.layer(() => "It is noon."))
 * )
 * ```
 */
export const layer = (options: Options): Layer.Layer<LlmClient.LlmClient | FaultyModel, never, LlmClient.LlmClient> =>
  Layer.effectContext(
    Effect.map(LlmClient.LlmClient, (client) => {
      const service = make(client, options)
      return Context.make(LlmClient.LlmClient, CallGate.wrap(service)).pipe(Context.add(FaultyModel, service.observer))
    })
  )
