/**
 * Lets a model resolve the conflicts of a merge. The model sees the versions as numbered data, and can only choose one
 * of them or give a replacement.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Count from "../../internal/Count.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as ModelRouter from "../../llm/ModelRouter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as SessionPrompts from "../../prompt/defaults/SessionPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { SessionMergeError } from "../turn/SessionError.js"
import * as MergeStrategy from "./MergeStrategy.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The role of the `ModelRouter` that decides; default `evaluation`. */
  readonly role?: ModelRouter.Role | undefined
  /** Override the settings of the role, which override temperature 0 and at most 2,000 tokens. */
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** The timeout of the whole call; default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** With more conflicts than this, the merge fails without a model call; default 50. */
  readonly maxConflicts?: number | undefined
  /** The maximum number of characters of each version and of each key that the model sees; default 2,000. */
  readonly maxChars?: number | undefined
}

const Answer = Schema.Struct({
  decisions: Schema.Array(
    Schema.Struct({
      n: Schema.Number,
      take: Schema.Literal("ours", "theirs", "value"),
      value: Schema.optional(Schema.NullOr(Schema.String))
    })
  )
})
const decode = Schema.decodeUnknownOption(Answer)
const parse = Schema.decodeOption(Schema.parseJson())
const responseFormat: LlmClient.ResponseFormat = {
  type: "json",
  name: "decisions",
  schema: OutputSchema.make(Answer).jsonSchema
}

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}[…${text.length - most}]`

const refused = ({ from, into }: MergeStrategy.Merging, message: string, hint: string): SessionMergeError =>
  new SessionMergeError({
    message,
    hint,
    sessionId: into.id,
    branchSessionId: from.id,
    reason: "resolver",
    variables: []
  })

/** Reads the decision on each conflict; none unless the answer decides each conflict exactly once. */
const decided = (
  response: LlmClient.LlmResponse,
  conflicts: ReadonlyArray<MergeStrategy.Conflict>
): Option.Option<ReadonlyArray<Option.Option<unknown>>> => {
  const json = JsonText.read(LlmClient.text(response))
  if (Either.isLeft(json)) return Option.none()
  return Option.flatMap(decode(json.right), ({ decisions }) => {
    const answers = new Map<number, Option.Option<unknown>>()
    for (const { n, take, value } of decisions) {
      const conflict = conflicts[n - 1]
      if (conflict === undefined || answers.has(n)) return Option.none()
      if (take === "value") {
        const given = typeof value === "string" ? parse(value) : Option.none()
        if (Option.isNone(given)) return Option.none()
        if (conflict.field === "systemPrompt" && typeof given.value !== "string") return Option.none()
        answers.set(n, given)
      } else answers.set(n, conflict[take])
    }
    return answers.size === conflicts.length
      ? Option.some(conflicts.map((_, at) => answers.get(at + 1) ?? Option.none()))
      : Option.none()
  })
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): MergeStrategy.Resolver<never, ModelRouter.ModelRouter> => {
  const maxConflicts = Count.count(options.maxConflicts, 50, 1)
  const maxChars = Count.count(options.maxChars, 2000, 1)
  const version = (value: Option.Option<unknown>): string | null =>
    Option.isNone(value) ? null : cut(JSON.stringify(value.value) ?? "null", maxChars)

  const ask = Effect.fnUntraced(function* (conflicts: ReadonlyArray<MergeStrategy.Conflict>) {
    const router = yield* ModelRouter.ModelRouter
    const { client, settings } = yield* router.resolve(options.role ?? "evaluation")
    const prompts = yield* PromptLibrary.PromptLibrary
    const step = SessionPrompts.ResolveConflicts
    const { system, user } = prompts.render(step, {
      conflicts: DataDocument.stringify({
        conflicts: conflicts.map(({ base, field, key, ours, theirs }, at) => ({
          n: at + 1,
          field,
          key: cut(key, maxChars),
          base: version(base),
          ours: version(ours),
          theirs: version(theirs)
        }))
      }),
      output_format: step.textFormat
    })
    const limited = LlmTimeout.wrap({ whole: options.timeout ?? "30 seconds" })(client)
    return yield* limited.complete({
      messages: [
        { role: "system", content: system },
        { role: "user", content: [{ type: "text", text: user }] }
      ],
      responseFormat,
      settings: ModelSettings.merge(
        ModelSettings.merge({ temperature: 0, maxTokens: 2000 }, settings),
        options.settings
      )
    })
  })

  return Effect.fnUntraced(function* (conflicts, merging) {
    if (conflicts.length > maxConflicts) {
      return yield* refused(
        merging,
        `There are ${conflicts.length} conflicts, and the model decides ${maxConflicts} at most`,
        "Merge more often, let one side win, or allow more (`maxConflicts`)"
      )
    }
    const response = yield* Effect.mapError(ask(conflicts), ({ _tag }) =>
      refused(merging, `The model that resolves conflicts gave no answer: ${_tag}`, "Merge again, or let one side win")
    )
    const answers = decided(response, conflicts)
    if (Option.isNone(answers)) {
      return yield* refused(
        merging,
        "The model did not decide every conflict",
        "Merge again, give the role another model, or let one side win"
      )
    }
    return answers.value
  })
}

/**
 * A three-way merge (`MergeStrategy.threeWay`) in which one model call resolves all conflicts; without conflicts there
 * is no call. Unless the answer decides every conflict, the merge fails with `SessionMergeError` (`resolver`) and
 * nothing is written.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { BranchManager, ModelMergeResolver } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const branches = yield* BranchManager.BranchManager
 *   const strategy = ModelMergeResolver.strategy({ timeout: "10 seconds", maxConflicts: 10 })
 *   const { conflicts } = yield* branches.merge(Ids.SessionId.make("trip"), Ids.SessionId.make("trip-cheaper"), {
 *     strategy
 *   })
 *   yield* Effect.log(`${conflicts.length} conflicts were resolved`)
 * })
 * ```
 */
export const strategy = (options: Options = {}): MergeStrategy.MergeStrategy<never, ModelRouter.ModelRouter> =>
  MergeStrategy.threeWay<never, ModelRouter.ModelRouter>({ conflict: make(options), name: "model_directed" })
