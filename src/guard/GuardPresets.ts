/**
 * Builds the pipeline of built-in guards for a configuration.
 *
 * @since 0.1.0
 */
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as ModelRouter from "../llm/ModelRouter.js"
import type { LlmError } from "../llm/model/LlmError.js"
import * as GuardConfig from "./GuardConfig.js"
import * as InjectionGuard from "./injection/InjectionGuard.js"
import * as JudgeGuard from "./JudgeGuard.js"
import * as LengthGuard from "./LengthGuard.js"
import * as PiiEntities from "./pii/PiiEntities.js"
import * as PiiGuard from "./pii/PiiGuard.js"
import * as SecretGuard from "./pii/SecretGuard.js"
import * as DefaultGuardPipeline from "./pipeline/DefaultGuardPipeline.js"
import type * as Guard from "./pipeline/Guard.js"
import type { GuardConfigurationError } from "./pipeline/GuardError.js"
import type * as GuardPipeline from "./pipeline/GuardPipeline.js"
import * as TopicGuard from "./TopicGuard.js"
import * as UnicodeGuard from "./UnicodeGuard.js"

const secrets: ReadonlySet<string> = new Set(PiiEntities.secrets.map(({ type }) => type))
const personal = PiiEntities.types.filter((type) => !secrets.has(type))

const local = (config: GuardConfig.GuardConfig): Effect.Effect<Array<Guard.Guard>, GuardConfigurationError> =>
  Effect.gen(function* () {
    const { lengthAction, sensitivityLevel: sensitivity } = config
    const incoming: ReadonlyArray<Guard.GuardStage> = config.toolOutputs ? ["input", "toolOutput"] : ["input"]
    const guards: Array<Guard.Guard> = []
    if (config.unicodeDetection) guards.push(UnicodeGuard.make({ stages: incoming }))
    if (config.maxInputChars > 0) {
      guards.push(
        LengthGuard.make({
          name: "input-length",
          maxChars: config.maxInputChars,
          action: lengthAction,
          stages: ["input"]
        })
      )
    }
    if (config.restrictedTopics.length > 0) {
      guards.push(TopicGuard.make({ topics: config.restrictedTopics, action: config.topicAction }))
    }
    if (config.injectionDetection) {
      guards.push(InjectionGuard.make({ action: config.injectionAction, sensitivity, stages: incoming }))
    }
    if (config.secretDetection) {
      guards.push(SecretGuard.make({ action: config.secretAction, sensitivity, stages: [...incoming, "output"] }))
    }
    if (config.piiDetection) {
      const entities = config.piiEntities.length > 0 ? config.piiEntities : personal
      guards.push(yield* PiiGuard.make({ entities, action: config.piiAction, sensitivity, stages: incoming }))
      if (config.piiRedactionOutput) {
        guards.push(
          yield* PiiGuard.make({ name: "pii-output", entities, action: "redact", sensitivity, stages: ["output"] })
        )
      }
    }
    // Runs after redaction: limits the text that is shown.
    if (config.maxOutputChars > 0) {
      guards.push(
        LengthGuard.make({
          name: "output-length",
          maxChars: config.maxOutputChars,
          action: lengthAction,
          stages: ["output"]
        })
      )
    }
    return guards
  })

/** Judges see the text the other guards left, and cost a call only if those blocked nothing. */
const judges = (config: GuardConfig.GuardConfig): Array<Guard.Guard<LlmError, ModelRouter.ModelRouter>> => {
  const options = {
    threshold: config.llmGuardThreshold,
    failOpen: config.llmGuardFailOpen,
    ...(config.guardModel === undefined ? {} : { settings: { model: config.guardModel } })
  }
  return [
    JudgeGuard.make({
      kind: "injection",
      stages: config.toolOutputs ? ["input", "toolOutput"] : ["input"],
      ...options
    }),
    JudgeGuard.make({ kind: "jailbreak", ...options })
  ]
}

/**
 * The guards of a configuration in the order they run: invisible characters, length, topics, injections, secrets,
 * personal data, answer length, judges.
 *
 * @since 0.1.0
 * @category constructors
 */
export const guards = (
  config: GuardConfig.GuardConfig
): Effect.Effect<ReadonlyArray<Guard.Guard<LlmError, ModelRouter.ModelRouter>>, GuardConfigurationError> =>
  config.enabled
    ? Effect.map(local(config), (guards) => (config.enableLlmGuards ? [...guards, ...judges(config)] : guards))
    : Effect.succeed([])

const pipeline = (config: GuardConfig.GuardConfig) =>
  Effect.map(guards(config), (guards) =>
    DefaultGuardPipeline.layer({
      guards,
      parallel: config.parallelExecution,
      blockedObservations: config.blockedObservations
    })
  )

/**
 * Builds the pipeline from the defaults of `GuardConfig` with some fields replaced. The layer fails and names any
 * invalid field. Only judges require models.
 *
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { GuardPresets } from "effect-lexigram/guard"
 *
 * const agents = Agents.layerWith({
 *   guards: GuardPresets.layer({ maxInputChars: 8000, restrictedTopics: ["casino"] })
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  (
    options?: (GuardConfig.Options & { readonly enableLlmGuards?: false | undefined }) | undefined
  ): Layer.Layer<GuardPipeline.GuardPipeline, GuardConfigurationError>
  (
    options: GuardConfig.Options
  ): Layer.Layer<GuardPipeline.GuardPipeline, GuardConfigurationError, ModelRouter.ModelRouter>
} = (options?: GuardConfig.Options | undefined) =>
  // Without judges, no guard requires the router.
  Layer.unwrapEffect(
    Effect.flatMap(
      Effect.suspend(() => GuardConfig.make(options)),
      pipeline
    )
  ) as Layer.Layer<GuardPipeline.GuardPipeline, GuardConfigurationError>

/**
 * Builds the pipeline from the environment, see `GuardConfig.config`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig: Layer.Layer<
  GuardPipeline.GuardPipeline,
  ConfigError.ConfigError | GuardConfigurationError,
  ModelRouter.ModelRouter
> = Layer.unwrapEffect(Effect.flatMap(GuardConfig.config, pipeline))
