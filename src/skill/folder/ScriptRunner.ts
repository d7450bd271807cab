/**
 * The port that runs scripts of skills.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A script was not run or did not succeed. `stderr` is the end of its standard error, without secrets.
 *
 * - `NotAllowed`: its type is not allowed, or it is outside the skill's folder
 * - `NotFound`: the file does not exist
 * - `TooLarge`: the file exceeds the size limit
 * - `Unavailable`: there is no interpreter for it, or no process could be started
 * - `Failed`: it ended with an exit code other than 0, or by a signal
 * - `Timeout`, `OutputLimit`, `MemoryLimit`, `ProcessLimit`: it exceeded a limit and was killed with everything it had
 *   started
 *
 * @since 0.1.0
 * @category errors
 */
export class ScriptError extends ErrorCode.TaggedError<ScriptError>("effect-lexigram/skill/ScriptRunner/ScriptError")(
  "ScriptError",
  {
    ...ErrorCode.fields("LEX_ERR_SKILL_102"),
    skillName: Schema.String,
    script: Schema.String,
    reason: Schema.Literal(
      "NotAllowed",
      "NotFound",
      "TooLarge",
      "Unavailable",
      "Failed",
      "Timeout",
      "OutputLimit",
      "MemoryLimit",
      "ProcessLimit"
    ),
    exitCode: Schema.optional(Schema.Int),
    signal: Schema.optional(Schema.String),
    stderr: Schema.optional(Schema.String)
  }
) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ScriptRequest {
  readonly skillName: string
  /** The skill's folder, absolute. */
  readonly directory: string
  /** The script, relative to the folder: `scripts/main.py`. */
  readonly script: string
  /** Passed as JSON on standard input. */
  readonly params: unknown
  /** Overrides the runner's limit. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ScriptResult {
  readonly stdout: string
  readonly stderr: string
  /** `stdout` parsed as JSON if possible, otherwise the text. */
  readonly output: unknown
  readonly durationMs: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Runs a script in its own process until it ends. Interruption kills it with everything it started, before the fiber
   * ends.
   */
  readonly run: (request: ScriptRequest) => Effect.Effect<ScriptResult, ScriptError>
}

/**
 * @example
 * ```ts
 * import { ScriptRunner, type SkillFile } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const report = ({ directory, file }: SkillFile.LoadedSkill) =>
 *   Effect.flatMap(ScriptRunner.ScriptRunner, (runner) =>
 *     runner.run({ skillName: file.name, directory, script: "scripts/main.py", params: { month: "2026-11" } })
 *   )
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class ScriptRunner extends Context.Tag("effect-lexigram/skill/ScriptRunner")<ScriptRunner, Service>() {}

/**
 * Runs nothing: every script fails with `ScriptError`, reason `NotAllowed`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<ScriptRunner> = Layer.succeed(ScriptRunner, {
  run: ({ script, skillName }) =>
    Effect.fail(
      new ScriptError({
        skillName,
        script,
        reason: "NotAllowed",
        message: "Scripts of skills are disabled",
        hint: "Provide ChildScripts.layer of effect-lexigram/builtin to run them"
      })
    )
})
