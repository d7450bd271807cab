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
   * Reads a skill's folder again, each time something of the skill is used: one that has changed since is asked about
   * (`SkillTrust`) before its text is. Without it skills stay as they were loaded.
   */
  readonly reload?: ((skill: LoadedSkill) => Effect.Effect<LoadedSkill, E, R>) | undefined
  /** Gives models a tool that runs scripts. Default false. */
  readonly scripts?: boolean | undefined
}

/**
 * What a catalogue works with.
 *
 * @since 0.1.0
 * @category models
 */
export type Requirements = FileSystem.FileSystem | Path.Path | ScriptRunner.ScriptRunner | SkillTrust.SkillTrust

const warn = (message: string, annotations: Record<string, unknown>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "SkillCatalog", ...annotations })

/** The skills of one time, and what was made of them. */
interface State {
  readonly skills: ReadonlyArray<LoadedSkill>
  readonly byName: ReadonlyMap<string, LoadedSkill>
  /** The last one of each choice. */
  readonly listings: WeakMap<Choice, { readonly maxTokens: number; readonly listing: SkillListing.Listing }>
}

const everything: Choice = () => true

const stateOf = (skills: ReadonlyArray<LoadedSkill>): State => ({
  skills,
  byName: new Map(skills.map((skill) => [skill.file.name, skill])),
  listings: new WeakMap()
})

/** More tokens than are advised are worth a word. */
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

/** A skill is the same as long as its name, its place and its content are. */
const identityOf = (skill: LoadedSkill): string => JSON.stringify([skill.file.name, skill.directory, skill.hash])

const distrusted = (skill: LoadedSkill): SkillTrust.SkillTrustError =>
  new SkillTrust.SkillTrustError({
    skillName: SkillText.name(skill.file.name),
    reason: "Denied",
    message: `The skill "${SkillText.name(skill.file.name)}" has changed and was not accepted as it is now`,
    hint: "Go on without it"
  })

/**
 * The first trusted one of each name: one that is not trusted hides no other. `known` are decisions that still hold.
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

interface Made {
  readonly service: Service
  readonly update: (skills: ReadonlyArray<LoadedSkill>) => Effect.Effect<void, SkillTrust.SkillTrustError>
}

const build = <E, R>(options: Options<E, R> | undefined): Effect.Effect<Made, never, Requirements | R> =>
  Effect.gen(function* () {
    const counter = options?.counter ?? TokenCounter.approximate
    const trust = yield* SkillTrust.SkillTrust
    const runner = yield* ScriptRunner.ScriptRunner
    const files = Context.make(FileSystem.FileSystem, yield* FileSystem.FileSystem).pipe(
      Context.add(Path.Path, yield* Path.Path)
    )
    const captured = yield* CapturedContext.context<R>()
    const reload = options?.reload
    let state = stateOf([])
    let decisions: ReadonlyMap<string, boolean> = new Map()
    /**
     * By name, what was refused when it was wanted last: a model that tries again does not have it asked about again.
     */
    const refused = new Map<string, string>()

    /** A skill whose folder cannot be read any more, or holds another one, is not used as it was. */
    const reloaded = (skill: LoadedSkill): Effect.Effect<LoadedSkill, UseError> => {
      if (reload === undefined) return Effect.succeed(skill)
      const changed = (message: string, cause?: unknown) =>
        new SkillAccess.SkillAccessError({
          skillName: SkillText.name(skill.file.name),
          reason: "Changed",
          message: `The skill "${SkillText.name(skill.file.name)}" ${message}`,
          hint: "Go on without it",
          ...(cause === undefined ? {} : { cause })
        })
      return Effect.matchEffect(CapturedContext.provide(reload(skill), captured), {
        onFailure: (error) => Effect.fail(changed("cannot be read any more", error)),
        onSuccess: (now): Effect.Effect<LoadedSkill, UseError> => {
          if (now.file.name !== skill.file.name || now.directory !== skill.directory)
            return Effect.fail(changed("is another one now"))
          if (now.hash === skill.hash) return Effect.succeed(skill)
          const identity = identityOf(now)
          if (refused.get(now.file.name) === identity) return Effect.fail(distrusted(now))
          return Effect.flatMap(trust.isTrusted(now), (isTrusted) => {
            if (isTrusted) return Effect.succeed(now)
            refused.set(now.file.name, identity)
            return Effect.fail(distrusted(now))
          })
        }
      })
    }

    const find = (name: string): Effect.Effect<LoadedSkill, UseError> =>
      Effect.suspend((): Effect.Effect<LoadedSkill, UseError> => {
        const skill = state.byName.get(name)
        return skill === undefined
          ? notFound(
              name,
              state.skills.map(({ file }) => file.name)
            )
          : reloaded(skill)
      })

    const listing: Service["listing"] = (listingOptions) =>
      Effect.suspend(() => {
        const maxTokens = listingOptions?.maxTokens ?? SkillListing.defaults.maxTokens
        const only = listingOptions?.only ?? everything
        const { listings, skills } = state
        const known = listings.get(only)
        if (known?.maxTokens === maxTokens) return Effect.succeed(known.listing)
        const made = SkillListing.make(
          skills.filter(({ file }) => only(file)),
          { counter, maxTokens }
        )
        listings.set(only, { maxTokens, listing: made })
        return made.omitted.length === 0
          ? Effect.succeed(made)
          : Effect.as(
              warn("Skills do not fit into the listing and are left out", {
                maxTokens,
                skills: made.omitted.slice(0, 20).map(SkillText.name).join(", "),
                count: made.omitted.length
              }),
              made
            )
      })

    const service: Service = {
      skills: Effect.sync(() => state.skills),
      scripts: options?.scripts ?? false,
      listing,
      skill: find,
      activate: (name, params) => Effect.flatMap(find(name), (skill) => activated(skill, params, counter)),
      readFile: (name, path) =>
        Effect.flatMap(find(name), (skill) => Effect.provide(SkillAccess.readText(skill, path), files)),
      script: (name, path, params) =>
        Effect.gen(function* () {
          const skill = yield* find(name)
          yield* Effect.provide(SkillAccess.locate(skill, path), files)
          return yield* runner.run({
            skillName: name,
            directory: skill.directory,
            script: path,
            params: params ?? {}
          })
        })
    }

    return {
      service,
      update: (skills) =>
        Effect.map(admitted(skills, trust, decisions), (next) => {
          decisions = next.decisions
          refused.clear()
          state = stateOf(next.accepted)
        })
    }
  })

/**
 * A catalogue of these skills, in this order; of two that have one name the first that is trusted counts. Fails when it
 * cannot be found out whether they are trusted; those that are not are left out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  skills: ReadonlyArray<LoadedSkill>,
  options?: Options<E, R>
): Effect.Effect<Service, SkillTrust.SkillTrustError, Requirements | R> =>
  Effect.flatMap(build(options), ({ service, update }) => Effect.as(update(skills), service))

/**
 * What became of a skill: the form of `SkillFolders.watch`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly _tag: "Added" | "Changed" | "Removed"
  readonly skill: LoadedSkill
}

/**
 * The skills there are after each change, for `makeLive`: those that were there first come first. Changes that come in
 * one piece count as one.
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
 * A catalogue that follows its skills: `current` to begin with, then whatever `changes` gives. While somebody is asked
 * about new ones it stays as it was; of changes that come meanwhile the last counts. It also stays as it was when it
 * cannot be found out whether they are trusted, and when the changes end; failures are logged.
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
    const { service, update } = yield* build(options)
    const begun = yield* Deferred.make<void>()
    // Before the first skills are asked about: what changes meanwhile is not missed.
    yield* source.changes.pipe(
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.runForEach((skills) =>
        Effect.catchAll(Effect.zipRight(Deferred.await(begun), update(skills)), (error) =>
          warn("Changed skills are not used: it cannot be found out whether they are trusted", {
            error: errorInfo(error).tag,
            reason: error.reason
          })
        )
      ),
      Effect.catchAll((error) => warn("Changes of skills are not followed any more", { error: errorInfo(error).tag })),
      Effect.forkScoped
    )
    yield* update(source.current)
    yield* Deferred.succeed(begun, undefined)
    return service
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  skills: ReadonlyArray<LoadedSkill>,
  options?: Options<E, R>
): Layer.Layer<SkillCatalog, SkillTrust.SkillTrustError, Requirements | R> =>
  Layer.effect(SkillCatalog, make(skills, options))

/**
 * As `makeLive`; it follows the changes as long as the layer stands.
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
