/**
 * Remembers trusted skills in a lock file: a new or changed skill folder is asked about before anything of it is used.
 *
 * The file can be kept under version control: paths below its folder are relative.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId } from "../../domain/Ids.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Run from "../../observability/Run.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillText from "../definition/SkillText.js"
import * as AllowedTools from "./AllowedTools.js"
import * as SkillLockFile from "./SkillLockFile.js"
import { type Service, SkillTrust, type SkillTrustError } from "./SkillTrust.js"

/**
 * A question about a skill.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question {
  /** The current version. */
  readonly skill: LoadedSkill
  /** The accepted version; `undefined` for a new skill. */
  readonly pinned: SkillLockFile.Pin | undefined
  /** The differences, one text each; empty for a new skill. File contents may have changed even if none is listed. */
  readonly changes: ReadonlyArray<string>
}

/**
 * Treatment of skills that were never accepted: ask, accept or deny. `allow` applies to the first use only: a later
 * change is asked about. With `deny` nothing is ever asked, and changed skills are denied too.
 *
 * @since 0.1.0
 * @category models
 */
export type Policy = "ask" | "allow" | "deny"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The lock file, created when the first skill is accepted. Its folder must exist. */
  readonly path: string
  /** Default `ask`. */
  readonly policy?: Policy | undefined
  /** How long to wait while another process writes the file; default 5 seconds. */
  readonly patience?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  policy: "ask",
  patience: Duration.seconds(5)
} as const

const listLine = (word: string, items: ReadonlyArray<string>): ReadonlyArray<string> =>
  items.length === 0
    ? []
    : [
        `${word}: ${items.slice(0, 20).map(SkillText.name).join(", ")}${items.length > 20 ? ` and ${items.length - 20} more` : ""}`
      ]

const toolsOf = (skill: LoadedSkill): ReadonlyArray<string> | undefined =>
  skill.file.allowedTools?.map(AllowedTools.format)

const toolsText = (tools: ReadonlyArray<string> | undefined): string =>
  tools === undefined ? "any" : tools.length === 0 ? "none" : tools.slice(0, 20).map(SkillText.name).join(", ")

const changesOf = (skill: LoadedSkill, pin: SkillLockFile.Pin): ReadonlyArray<string> => {
  const before = new Set(pin.files)
  const now = new Set(skill.files)
  const tools = toolsOf(skill)
  return [
    ...listLine(
      "new files",
      skill.files.filter((file) => !before.has(file))
    ),
    ...listLine(
      "files that are gone",
      pin.files.filter((file) => !now.has(file))
    ),
    ...(JSON.stringify(tools) === JSON.stringify(pin.allowedTools)
      ? []
      : [`allowed tools: ${toolsText(pin.allowedTools)} before, ${toolsText(tools)} now`])
  ]
}

/**
 * Trust by a lock file, with decisions made by `ask`. Questions are asked one at a time; an answer is written before
 * the skill is used, and a refused skill is asked about again when it is requested again.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeWith = <R = never>(
  options: Options & { readonly ask: (question: Question) => Effect.Effect<boolean, never, R> }
): Effect.Effect<Service, never, FileSystem.FileSystem | Path.Path | R> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const captured = yield* CapturedContext.context<R>()
    const policy = options.policy ?? defaults.policy
    const store = SkillLockFile.make(fs, { path: options.path, patience: options.patience ?? defaults.patience })
    const folder = paths.resolve(paths.dirname(options.path))
    const oneAtATime = Permits.make(1)

    /** The lock file may be behind a link: relative paths are derived from real paths. */
    const placeOf = (skill: LoadedSkill): Effect.Effect<string> =>
      Effect.map(
        Effect.orElseSucceed(fs.realPath(folder), () => folder),
        (real) => {
          const relative = paths.relative(real, skill.directory)
          const isBelow = relative !== ".." && !relative.startsWith(`..${paths.sep}`) && !paths.isAbsolute(relative)
          return isBelow ? relative.split(paths.sep).join("/") : skill.directory
        }
      )

    const pinned = (skill: LoadedSkill, path: string): Effect.Effect<SkillLockFile.Pin | undefined, SkillTrustError> =>
      Effect.map(store.read(skill), ({ skills }) =>
        skills.find((pin) => pin.name === skill.file.name && pin.path === path)
      )

    const accept = (skill: LoadedSkill, path: string): Effect.Effect<boolean, SkillTrustError> => {
      const allowedTools = toolsOf(skill)
      return Effect.as(
        store.pin(skill, {
          name: skill.file.name,
          path,
          hash: skill.hash,
          files: skill.files,
          ...(allowedTools === undefined ? {} : { allowedTools })
        }),
        true
      )
    }

    const decide = (skill: LoadedSkill, path: string): Effect.Effect<boolean, SkillTrustError> =>
      // Read again: it may have been accepted while another question was open.
      Effect.flatMap(pinned(skill, path), (pin) => {
        if (pin?.hash === skill.hash) return Effect.succeed(true)
        if (policy === "deny") return Effect.succeed(false)
        if (policy === "allow" && pin === undefined) return accept(skill, path)
        const question = { skill, pinned: pin, changes: pin === undefined ? [] : changesOf(skill, pin) }
        return Effect.flatMap(CapturedContext.provide(options.ask(question), captured), (accepted) =>
          accepted ? accept(skill, path) : Effect.succeed(false)
        )
      })

    return {
      isTrusted: (skill) =>
        Effect.flatMap(placeOf(skill), (path) =>
          Effect.flatMap(pinned(skill, path), (pin) =>
            pin?.hash === skill.hash ? Effect.succeed(true) : oneAtATime(decide(skill, path))
          )
        )
    }
  })

/** What the approver sees: names and places, never the skill's instructions. */
const requestOf = (question: Question, id: string, run: Run.Service): ApprovalGate.ApprovalRequest => {
  const { changes, pinned, skill } = question
  return {
    id,
    runId: run.runId === "" ? RunId.make(id) : run.runId,
    ...(run.rootRunId === "" ? {} : { rootRunId: run.rootRunId }),
    agent: run.agent === "" ? "skills" : run.agent,
    toolCallId: id,
    // Contains the content hash, so that a permanent approval covers this content only.
    tool: `use_skill:${skill.file.name}@${skill.hash.slice(0, 12)}`,
    params: {
      name: skill.file.name,
      description: skill.file.description,
      directory: skill.directory,
      hash: skill.hash,
      files: skill.files,
      allowedTools: toolsOf(skill) ?? "any",
      ...(skill.warnings.length === 0 ? {} : { warnings: skill.warnings }),
      ...(pinned === undefined ? {} : { acceptedHash: pinned.hash, changes })
    },
    reason: pinned === undefined ? "The skill is new" : "The skill has changed since it was accepted"
  }
}

/**
 * Asks through a gate: the request names the tool `use_skill:<name>@<first 12 digits of the hash>`, and its parameters
 * state the skill, its place and what changed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const askGate =
  (gate: ApprovalGate.Service) =>
  (question: Question): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const id = yield* IdGenerator.generate
      const { sessionId, userId } = yield* ApprovalGate.Requester
      const decision = yield* ApprovalGate.ask(gate, {
        ...requestOf(question, id, yield* Run.Run),
        ...(userId === undefined ? {} : { userId }),
        ...(sessionId === undefined ? {} : { sessionId })
      })
      return decision._tag === "Approved"
    })

/**
 * As `makeWith`, asking through `ApprovalGate`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<Service, never, FileSystem.FileSystem | Path.Path | ApprovalGate.ApprovalGate> =>
  Effect.flatMap(ApprovalGate.ApprovalGate, (gate) => makeWith({ ...options, ask: askGate(gate) }))

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<SkillTrust, never, FileSystem.FileSystem | Path.Path | ApprovalGate.ApprovalGate> =>
  Layer.effect(SkillTrust, make(options))

/**
 * `makeWith` as a layer.
 *
 * @example
 * ```ts
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { SkillLock } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Accepts the skills of the project, and refuses changes of what was accepted.
 * const trust = SkillLock.layerWith({
 *   path: "skills.lock.json",
 *   ask: ({ pinned, skill }) => Effect.succeed(pinned === undefined && skill.directory.startsWith("/srv/desk/skills/"))
 * }).pipe(Layer.provide(NodeContext.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = <R = never>(
  options: Options & { readonly ask: (question: Question) => Effect.Effect<boolean, never, R> }
): Layer.Layer<SkillTrust, never, FileSystem.FileSystem | Path.Path | R> => Layer.effect(SkillTrust, makeWith(options))
