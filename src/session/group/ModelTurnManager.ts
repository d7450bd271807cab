/**
 * A turn manager that asks a model for the next speaker. The model sees the visible end of the conversation as data,
 * and only a participant's name in its reply counts.
 *
 * @since 0.1.0
 */

import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as Count from "../../internal/Count.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as ModelRouter from "../../llm/ModelRouter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as Run from "../../observability/Run.js"
import * as GroupPrompts from "../../prompt/defaults/GroupPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import type { SessionTurn } from "../turn/Session.js"
import type { Member } from "./GroupParticipant.js"
import * as RoleIsolation from "./RoleIsolation.js"
import * as TurnManager from "./TurnManager.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The role of the `ModelRouter` that decides; default `planning`. */
  readonly role?: ModelRouter.Role | undefined
  /** Override the settings of the role, which override temperature 0 and at most 200 tokens. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** The timeout of the whole call; default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How many of the newest turns the model sees; default 20. */
  readonly maxTurns?: number | undefined
  /**
   * The maximum number of characters of each turn and each description, half from the beginning and half from the end;
   * default 1,000.
   */
  readonly maxChars?: number | undefined
  /** The viewer whose turns the model sees; by default, name and role are `moderator`. */
  readonly viewer?: RoleIsolation.Viewer | undefined
}

const Decision = Schema.Struct({ next: Schema.String })
const decode = Schema.decodeUnknownOption(Decision)
const responseFormat: LlmClient.ResponseFormat = {
  type: "json",
  name: "next_speaker",
  schema: OutputSchema.make(Decision).jsonSchema
}

/** The chosen name, empty for nobody; none when the reply cannot be read. */
const read = (response: LlmClient.LlmResponse): Option.Option<string> =>
  Option.flatMap(Either.getRight(JsonText.read(LlmClient.text(response))), (json) =>
    Option.map(decode(json), ({ next }) => next.trim())
  )

const situation = (members: ReadonlyArray<Member>, turns: ReadonlyArray<SessionTurn>, maxChars: number): string =>
  DataDocument.stringify({
    participants: members.map(({ description, name, role }) => ({
      name,
      role,
      description: Excerpt.ends(description, maxChars)
    })),
    conversation: turns.map((turn) => ({
      from: RoleIsolation.authorOf(turn).name,
      says: Excerpt.ends(turn.content, maxChars)
    }))
  })

const unreadable: ErrorInfo = {
  tag: "UnreadableDecision",
  message: "The model did not choose the next speaker; the next member in order is asked"
}

const unknown: ErrorInfo = {
  tag: "UnknownParticipant",
  message: "The model chose a name that is not in the group; the next member in order is asked"
}

/**
 * When the model call fails, or its reply is invalid or names nobody of the group, the next member in order is asked,
 * and an event reports it. An empty name ends the group.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { GroupParticipant, GroupSession, ModelTurnManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const writer = GroupParticipant.make("writer", {
 *   description: "Writes and corrects drafts",
 *   respond: () => Effect.succeed("A draft.")
 * })
 * const critic = GroupParticipant.make("critic", {
 *   description: "Finds faults in drafts",
 *   respond: () => Effect.succeed("Too long.")
 * })
 *
 * const desk = GroupSession.make({
 *   participants: [writer, critic],
 *   turnManager: ModelTurnManager.make({ maxTurns: 6 })
 * })
 * ```
 */
export const make = (
  options: Options = {}
): TurnManager.TurnManager<TurnManager.Cycle, never, ModelRouter.ModelRouter> => {
  const role = options.role ?? "planning"
  const viewer = options.viewer ?? { name: "moderator", role: "moderator" }
  const maxTurns = Count.count(options.maxTurns, 20, 1)
  const maxChars = Count.count(options.maxChars, 1000, 2)

  const ask = Effect.fnUntraced(function* (view: TurnManager.View) {
    const router = yield* ModelRouter.ModelRouter
    const { client, settings } = yield* router.resolve(role)
    const prompts = yield* PromptLibrary.PromptLibrary
    const step = GroupPrompts.SelectSpeaker
    const { system, user } = prompts.render(step, {
      situation: situation(view.members, view.visibleTo(viewer).slice(-maxTurns), maxChars),
      output_format: step.textFormat
    })
    const limited = LlmTimeout.wrap({ whole: options.timeout ?? "30 seconds" })(client)
    return read(
      yield* limited.complete({
        messages: [
          { role: "system", content: system },
          { role: "user", content: [{ type: "text", text: user }] }
        ],
        responseFormat,
        settings: ModelSettings.merge(
          ModelSettings.merge({ temperature: 0, maxTokens: 200 }, settings),
          options.settings
        )
      })
    )
  })

  /** Reports why the model's choice was not used. */
  const passedOver = (error: ErrorInfo): Effect.Effect<undefined> =>
    Effect.as(Run.emit({ _tag: "Degraded", stage: "turn-manager", error }), undefined)

  return TurnManager.make("model_directed", {
    initial: () => TurnManager.emptyCycle,
    next: (cycle, view) =>
      Effect.gen(function* () {
        const decided = yield* Effect.matchEffect(ask(view), {
          onFailure: (error) => passedOver(errorInfo(error)),
          onSuccess: Option.match({
            onNone: () => passedOver(unreadable),
            onSome: (name): Effect.Effect<string | undefined> =>
              name === "" || view.members.some((member) => member.name === name)
                ? Effect.succeed(name)
                : passedOver(unknown)
          })
        })
        if (decided === undefined) return TurnManager.inTurn(cycle, view.members)
        if (decided === "") return [TurnManager.nobody, cycle] as const
        return [TurnManager.speak(decided), TurnManager.asked(cycle, decided)] as const
      })
  })
}
