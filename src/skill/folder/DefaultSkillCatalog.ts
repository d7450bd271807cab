/**
 * The default skill catalog: checks trust, discloses skills in three levels, and follows changes to their folders.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillText from "../definition/SkillText.js"
import * as ScriptRunner from "./ScriptRunner.js"
import * as SkillAccess from "./SkillAccess.js"
import * as SkillActivation from "./SkillActivation.js"
import type * as SkillArguments from "./SkillArguments.js"
import { type Choice, notFound, type Service, SkillCatalog, type UseError } from "./SkillCatalog.js"
import * as SkillListing from "./SkillListing.js"
import * as SkillTrust from "./SkillTrust.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<out E = never, out R = never> {
  /** Counts the tokens of listings and instructions; default `TokenCounter.approximate`. */
  readonly counter?: TokenCounter.Service | undefined
  /**
   * Reads a skill's folder again on each use. If it has changed, `SkillTrust` is asked before its text is used. Without
   * `reload`, skills stay as loaded.
   */
  readonly reload?: ((skill: LoadedSkill) => Effect.Effect<LoadedSkill, E, R>) | undefined
  /** Gives models a tool that runs scripts. Default false. */
  readonly scripts?: boolean | undefined
}

/**
 * The services of a catalog.
 *
 * @since 0.1.0
 * @category models
 */
export type Requirements = FileSystem.FileSystem | Path.Path | ScriptRunner.ScriptRunner | SkillTrust.SkillTrust

const warn = (message: string, annotations: Record<string, unknown>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "SkillCatalog", ...annotations })

/** The current skills, and what was derived from them. */
interface State {
  readonly skills: ReadonlyArray<LoadedSkill>
  readonly byName: ReadonlyMap<string, LoadedSkill>
  /** The last listing of each choice. */
  readonly listings: WeakMap<Choice, { readonly maxTokens: number; readonly listing: SkillListing.Listing }>
}

const everything: Choice = () => true

const stateOf = (skills: ReadonlyArray<LoadedSkill>): State => ({
  skills,
  byName: new Map(skills.map((skill) => [skill.file.name, skill])),
  listings: new WeakMap()
})

/** Warns if the instructions exceed the advised number of tokens. */
const activated = (
  skill: LoadedSkill,
  params: SkillArguments.Arguments | undefined,
  counter: TokenCounter.Service
): Effect.Effect<SkillActivation.SkillActivation> => {
  const activation = SkillActivation.make(skill, { params, counter })
  const { name, tokens } = activation
  return tokens <= SkillActivation.ADVISED_TOKENS
    ? Effect.succeed(activation)
    : Effect.as(
        warn(
          `The instructions of a skill have ${tokens} tokens: more than the ${SkillActivation.ADVISED_TOKENS} advised`,
          {
            skill: SkillText.name(name)
          }
        ),
        activation
      )
}

/** A skill is identified by name, place and content. */
const identityOf = (skill: LoadedSkill): string => JSON.stringify([skill.file.name, skill.directory, skill.hash])

const distrusted = (skill: LoadedSkill): SkillTrust.SkillTrustError =>
  new SkillTrust.SkillTrustError({
    skillName: SkillText.name(skill.file.name),
    reason: "Denied",
    message: `The skill "${SkillText.name(skill.file.name)}" has changed and was not accepted in its current form`,
    hint: "Continue without it"
  })

/**
 * The first trusted skill of each name: an untrusted skill hides no other. `known` holds decisions that still apply.
 */
const admitted = Effect.fnUntraced(function* (
  skills: ReadonlyArray<LoadedSkill>,
  trust: SkillTrust.Service,
  known: ReadonlyMap<string, boolean>
) {
  const decisions = new Map<string, boolean>()
  const names = new Set<string>()
  const accepted: Array<LoadedSkill> = []
  for (const skill of skills) {
    const { name } = skill.file
    if (names.has(name)) {
      yield* warn("There are two skills of one name: the first is used", { skill: SkillText.name(name) })
      continue
    }
    const identity = identityOf(skill)
    const isTrusted = known.get(identity) ?? (yield* trust.isTrusted(skill))
    decisions.set(identity, isTrusted)
    if (isTrusted) {
      names.add(name)
      accepted.push(skill)
    } else yield* warn("A skill is not trusted and left out", { skill: SkillText.name(name) })
  }
  return { decisions, accepted }
})

type Files = FileSystem.FileSystem | Path.Path

/** A catalog whose skills can be replaced. */
class Catalog implements Service {
  private state = stateOf([])
  private decisions: ReadonlyMap<string, boolean> = new Map()
  /** The identity last refused, by name: a model that tries again does not cause another question. */
  private readonly refused = new Map<string, string>()

  constructor(
    readonly scripts: boolean,
    private readonly counter: TokenCounter.Service,
    private readonly trust: SkillTrust.Service,
    private readonly runner: ScriptRunner.Service,
    private readonly files: Context.Context<Files>,
    private readonly reload: ((skill: LoadedSkill) => Effect.Effect<LoadedSkill, unknown>) | undefined
  ) {}

  readonly skills: Service["skills"] = Effect.sync(() => this.state.skills)

  readonly listing: Service["listing"] = (options) =>
    Effect.suspend(() => {
      const maxTokens = options?.maxTokens ?? SkillListing.defaults.maxTokens
      const only = options?.only ?? everything
      const { listings, skills } = this.state
      const known = listings.get(only)
      if (known?.maxTokens === maxTokens) return Effect.succeed(known.listing)
      const chosen = skills.filter(({ file }) => only(file))
      const listing = SkillListing.make(chosen, { counter: this.counter, maxTokens })
      listings.set(only, { maxTokens, listing })
      return Effect.as(warnOmitted(listing, maxTokens), listing)
    })

  readonly skill: Service["skill"] = (name) =>
    Effect.suspend((): Effect.Effect<LoadedSkill, UseError> => {
      const { byName } = this.state
      const skill = byName.get(name)
      return skill === undefined ? notFound(name, [...byName.keys()]) : this.refresh(skill)
    })

  readonly activate: Service["activate"] = (name, params) =>
    Effect.flatMap(this.skill(name), (skill) => activated(skill, params, this.counter))

  readonly readFile: Service["readFile"] = (name, path) =>
    Effect.flatMap(this.skill(name), (skill) => Effect.provide(SkillAccess.readText(skill, path), this.files))

  readonly script: Service["script"] = (name, path, params) =>
    Effect.gen(this, function* () {
      const skill = yield* this.skill(name)
      yield* Effect.provide(SkillAccess.locate(skill, path), this.files)
      return yield* this.runner.run({
        skillName: name,
        directory: skill.directory,
        script: path,
        params: params ?? {}
      })
    })

  update(skills: ReadonlyArray<LoadedSkill>): Effect.Effect<void, SkillTrust.SkillTrustError> {
    return Effect.map(admitted(skills, this.trust, this.decisions), ({ accepted, decisions }) => {
      this.decisions = decisions
      this.refused.clear()
      this.state = stateOf(accepted)
    })
  }

  /** Fails if the skill's folder can no longer be read or holds another skill. */
  private refresh(skill: LoadedSkill): Effect.Effect<LoadedSkill, UseError> {
    if (this.reload === undefined) return Effect.succeed(skill)
    return Effect.matchEffect(this.reload(skill), {
      onFailure: (error) => Effect.fail(changed(skill, "can no longer be read", error)),
      onSuccess: (now) => this.readmit(skill, now)
    })
  }

  private readmit(before: LoadedSkill, now: LoadedSkill): Effect.Effect<LoadedSkill, UseError> {
    const { name } = now.file
    if (name !== before.file.name || now.directory !== before.directory) {
      return Effect.fail(changed(before, "has been replaced by another skill"))
    }
    if (now.hash === before.hash) return Effect.succeed(before)
    const identity = identityOf(now)
    if (this.refused.get(name) === identity) return Effect.fail(distrusted(now))
    return Effect.flatMap(this.trust.isTrusted(now), (isTrusted) => {
      if (isTrusted) return Effect.succeed(now)
      this.refused.set(name, identity)
      return Effect.fail(distrusted(now))
    })
  }
}

const changed = (skill: LoadedSkill, message: string, cause?: unknown): SkillAccess.SkillAccessError =>
  new SkillAccess.SkillAccessError({
    skillName: SkillText.name(skill.file.name),
    reason: "Changed",
    message: `The skill "${SkillText.name(skill.file.name)}" ${message}`,
    hint: "Continue without it",
    ...(cause === undefined ? {} : { cause })
  })

const warnOmitted = ({ omitted }: SkillListing.Listing, maxTokens: number): Effect.Effect<void> =>
  omitted.length === 0
    ? Effect.void
    : warn("Skills do not fit into the listing and are left out", {
        maxTokens,
        skills: omitted.slice(0, 20).map(SkillText.name).join(", "),
        count: omitted.length
      })

const build = <E, R>(options: Options<E, R> | undefined): Effect.Effect<Catalog, never, Requirements | R> =>
  Effect.gen(function* () {
    const captured = yield* CapturedContext.context<R>()
    const reload = options?.reload
    return new Catalog(
      options?.scripts ?? false,
      options?.counter ?? TokenCounter.approximate,
      yield* SkillTrust.SkillTrust,
      yield* ScriptRunner.ScriptRunner,
      Context.pick(FileSystem.FileSystem, Path.Path)(yield* Effect.context<Files>()),
      reload && ((skill) => CapturedContext.provide(reload(skill), captured))
    )
  })

/**
 * A catalog of these skills in this order; of several with one name, the first trusted one counts. Untrusted skills are
 * left out. Fails if trust cannot be determined.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  skills: ReadonlyArray<LoadedSkill>,
  options?: Options<E, R>
): Effect.Effect<Service, SkillTrust.SkillTrustError, Requirements | R> =>
  Effect.flatMap(build(options), (catalog) => Effect.as(catalog.update(skills), catalog))

/**
 * A change of a skill, as emitted by `SkillFolders.watch`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly _tag: "Added" | "Changed" | "Removed"
  readonly skill: LoadedSkill
}

/**
 * The skills after each change, for `makeLive`, in order of first appearance. Changes in one chunk count as one.
 *
 * @since 0.1.0
 * @category conversions
 */
export const following = <E, R>(
  changes: Stream.Stream<Change, E, R>
): Stream.Stream<ReadonlyArray<LoadedSkill>, E, R> =>
  Stream.mapAccum(Stream.chunks(changes), new Map<string, LoadedSkill>(), (before, chunk) => {
    const now = new Map(before)
    for (const { _tag, skill } of chunk) {
      if (_tag === "Removed") now.delete(skill.file.name)
      else now.set(skill.file.name, skill)
    }
    return [now, [...now.values()]]
  })

/**
 * A catalog that follows its skills: `current` first, then every list from `changes`. It keeps its state while new
 * skills wait for a trust decision; of changes that arrive meanwhile, the last one counts. It also keeps its state when
 * trust cannot be determined and when the changes end; failures are logged.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeLive = <E = never, R = never, E2 = never, R2 = never>(
  source: {
    readonly current: ReadonlyArray<LoadedSkill>
    readonly changes: Stream.Stream<ReadonlyArray<LoadedSkill>, E2, R2>
  },
  options?: Options<E, R>
): Effect.Effect<Service, SkillTrust.SkillTrustError, Requirements | R | R2 | Scope.Scope> =>
  Effect.gen(function* () {
    const catalog = yield* build(options)
    const begun = yield* Deferred.make<void>()
    // Subscribes before the first trust decision, so that no change in between is missed.
    yield* source.changes.pipe(
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.runForEach((skills) =>
        Effect.catchAll(Effect.zipRight(Deferred.await(begun), catalog.update(skills)), (error) =>
          warn("Changed skills are not used: it cannot be found out whether they are trusted", {
            error: errorInfo(error).tag,
            reason: error.reason
          })
        )
      ),
      Effect.catchAll((error) => warn("Changes of skills are not followed any more", { error: errorInfo(error).tag })),
      Effect.forkScoped
    )
    yield* catalog.update(source.current)
    yield* Deferred.succeed(begun, undefined)
    return catalog
  })

/**
 * `make` as a layer.
 *
 * @example
 * ```ts
 * import { DefaultSkillCatalog, ScriptRunner, SkillFolders, SkillTrust } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Requires FileSystem and Path.
 * const catalog = Layer.unwrapEffect(
 *   Effect.map(SkillFolders.scan({ paths: ["./skills"] }), ({ skills }) => DefaultSkillCatalog.layer(skills))
 * ).pipe(Layer.provide([SkillTrust.layerNoop, ScriptRunner.layerNoop]))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  skills: ReadonlyArray<LoadedSkill>,
  options?: Options<E, R>
): Layer.Layer<SkillCatalog, SkillTrust.SkillTrustError, Requirements | R> =>
  Layer.effect(SkillCatalog, make(skills, options))

/**
 * `makeLive` as a layer, which follows the changes for its lifetime.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerLive = <E = never, R = never, E2 = never, R2 = never>(
  source: {
    readonly current: ReadonlyArray<LoadedSkill>
    readonly changes: Stream.Stream<ReadonlyArray<LoadedSkill>, E2, R2>
  },
  options?: Options<E, R>
): Layer.Layer<SkillCatalog, SkillTrust.SkillTrustError, Requirements | R | R2> =>
  Layer.scoped(SkillCatalog, makeLive(source, options)) as Layer.Layer<
    SkillCatalog,
    SkillTrust.SkillTrustError,
    Requirements | R | R2
  >
