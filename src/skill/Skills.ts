/**
 * Skills as an application has them: a registry that is filled from several sources, and an executor, as a
 * configuration wants them.
 *
 * The registry is filled in this order: skills that are given, built-in ones, those that modules export, sources of
 * your own, folders with a `SKILL.md`. Of two skills of one name the first stays, and a warning names the other. What
 * is registered later, by `SkillRegistration.layer` for example, fails on a name that is taken.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as CacheBackend from "../llm/CacheBackend.js"
import * as EventBus from "../observability/EventBus.js"
import * as Health from "../observability/Health.js"
import * as Hooks from "../observability/Hooks.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import type * as Skill from "./definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "./definition/SkillError.js"
import type { LoadedSkill } from "./definition/SkillFile.js"
import * as DefaultSkillExecutor from "./execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "./execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "./execute/PermissionChecker.js"
import * as SkillExecutor from "./execute/SkillExecutor.js"
import * as SkillRegistration from "./execute/SkillRegistration.js"
import * as SkillRegistry from "./execute/SkillRegistry.js"
import * as SkillResultBackend from "./execute/SkillResultBackend.js"
import * as SkillResultCache from "./execute/SkillResultCache.js"
import * as SkillResultMemory from "./execute/SkillResultMemory.js"
import * as FolderExecution from "./folder/FolderExecution.js"
import * as ScriptRunner from "./folder/ScriptRunner.js"
import * as SkillFolders from "./folder/SkillFolders.js"
import * as SkillSource from "./folder/SkillSource.js"
import * as SkillTrust from "./folder/SkillTrust.js"
import * as ModuleDiscovery from "./ModuleDiscovery.js"
import * as SkillsConfig from "./SkillsConfig.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What the configuration calls these skills. */
  readonly name: string
  /**
   * What came of each source, in the order in which they were read; folders as they were when they were last looked at.
   */
  readonly sources: Effect.Effect<ReadonlyArray<SkillSource.Report>>
  /** A part for each source: unhealthy while something of it is not there that should be. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Skills extends Context.Tag("effect-lexigram/skill/Skills")<Skills, Service>() {}

/**
 * How folders are looked at, beside what the configuration says.
 *
 * @since 0.1.0
 * @category models
 */
export interface FolderOptions
  extends Omit<SkillFolders.RegisterOptions, "paths" | "admit" | "allowedScriptTypes" | "around"> {
  /** Follows what happens to the folders. Default false: they are looked at once. */
  readonly watch?: boolean | undefined
}

/**
 * What the configuration works with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Collaborators {
  /** In front of all others; two of one name fail the layer. */
  readonly skills?: ReadonlyArray<Skill.Any> | undefined
  /** What `builtinSkills` chooses from. */
  readonly builtin?: ReadonlyArray<Skill.Any> | undefined
  /** Sources of your own, behind modules and before folders. */
  readonly sources?: ReadonlyArray<SkillSource.SkillSource<any>> | undefined
  /** Who may do what, where permissions are enforced. Default: nobody may do anything that needs a permission. */
  readonly permissions?: Layer.Layer<PermissionChecker.PermissionChecker, any, any> | undefined
  /** Who confirms executions. Default: nobody, they are refused. */
  readonly approvals?: Layer.Layer<ApprovalGate.ApprovalGate, any, any> | undefined
  /** Where results are kept with `cacheBackend: "cache"`. */
  readonly cache?: Layer.Layer<CacheBackend.CacheBackend, any, any> | undefined
  /** What runs the scripts of folders. Default: nothing does. */
  readonly scripts?: Layer.Layer<ScriptRunner.ScriptRunner, any, any> | undefined
  /**
   * Which folders may be used: asked at each execution, and about skills of the project before they are registered.
   * Default: all but those of the project, which are not looked at.
   */
  readonly trust?: Layer.Layer<SkillTrust.SkillTrust, any, any> | undefined
  /** How the modules of `scanPackages` are loaded. */
  readonly discovery?: Omit<ModuleDiscovery.Options, "name"> | undefined
  readonly folders?: FolderOptions | undefined
}

type Given<L> = Extract<
  L[Extract<keyof L, "permissions" | "approvals" | "cache" | "scripts" | "trust">],
  Layer.Layer<any, any, any>
>
type SkillsIn<L> = Extract<L[Extract<keyof L, "skills" | "builtin">], ReadonlyArray<Skill.Any>>[number]
type SourcesIn<L> = Extract<L[Extract<keyof L, "sources">], ReadonlyArray<SkillSource.SkillSource<any>>>[number]

/**
 * What these collaborators fail with.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Collaborators> = [Given<L>] extends [never] ? never : Layer.Layer.Error<Given<L>>

/**
 * What these collaborators require.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Collaborators> =
  | ([Given<L>] extends [never] ? never : Layer.Layer.Context<Given<L>>)
  | Exclude<Skill.ServicesOf<SkillsIn<L>> | SkillSource.ServicesOf<SourcesIn<L>>, Scope.Scope>

/** A name that is misspelt would be passed over in silence. */
type NothingElse<L, Known extends string = never> = {
  readonly [K in Exclude<keyof L, keyof Collaborators | Known>]: never
}

/** What a layer of skills provides. */
type Out = Skills | SkillRegistry.SkillRegistry | SkillExecutor.SkillExecutor | SkillResultCache.SkillResultCache

type Failure = SkillAlreadyRegisteredError | SkillValidationError | SkillsConfig.SkillsConfigurationError

const noop = (name: string): Layer.Layer<Out> =>
  Layer.mergeAll(
    SkillRegistry.layerNoop,
    SkillExecutor.layerNoop,
    SkillResultCache.layerNoop,
    Layer.succeed(Skills, { name, sources: Effect.succeed([]), health: Health.sum([]) })
  )

/**
 * No skills: nothing is registered, and nothing can be executed.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Out> = noop(SkillsConfig.defaults.name)

const isDefault = (names: ReadonlyArray<string>): boolean =>
  names.length === SkillsConfig.defaults.builtinSkills.length &&
  names.every((name, i) => name === SkillsConfig.defaults.builtinSkills[i])

const sourcesOf = (
  config: SkillsConfig.SkillsConfig,
  given: Collaborators
): ReadonlyArray<SkillSource.SkillSource<any>> => {
  const { autoDiscover, builtinSkills, enableBuiltin, scanPackages } = config
  // Who is given none and asks for none in particular misses none.
  const isBuiltin = enableBuiltin && (given.builtin !== undefined || !isDefault(builtinSkills))
  return [
    ...(isBuiltin ? [SkillSource.fromNames("built-in", given.builtin ?? [], builtinSkills)] : []),
    ...(autoDiscover ? [ModuleDiscovery.source(scanPackages, given.discovery)] : []),
    ...(given.sources ?? [])
  ]
}

const mainScript = /^scripts\/main\.(?:py|js|sh)$/

/** An attempt lasts longer than its script may: it is the script that is said to be late. */
const traitsOf =
  ({ scriptTimeoutSeconds }: SkillsConfig.SkillsConfig, given: FolderOptions["traits"]) =>
  (skill: LoadedSkill): SkillFolders.Traits => {
    const traits = typeof given === "function" ? given(skill) : given
    return skill.files.some((file) => mainScript.test(file))
      ? { ...traits, timeout: traits?.timeout ?? Duration.seconds(scriptTimeoutSeconds + 5) }
      : { ...traits }
  }

const reasons: { readonly [Reason in SkillFolders.Problem["reason"]]: SkillSource.SkillSourceError["reason"] } = {
  Malformed: "Refused",
  Link: "Refused",
  Duplicate: "NotRegistered",
  NotRegistered: "NotRegistered",
  Unreadable: "Unavailable",
  Home: "Unavailable",
  Limit: "Unavailable",
  Untrusted: "Refused"
}

const FOLDERS = "folders"

const reportOf = ({ problems, skills }: SkillFolders.Scan): SkillSource.Report => {
  const without = new Set(problems.filter(({ reason }) => reason === "NotRegistered").map(({ skillName }) => skillName))
  return {
    source: FOLDERS,
    registered: skills.map(({ file }) => file.name).filter((name) => !without.has(name)),
    problems: problems.map(
      ({ message, path, reason }) =>
        new SkillSource.SkillSourceError({ source: FOLDERS, reason: reasons[reason], subject: path, message })
    )
  }
}

/** Asks about skills of the project. A refusal holds for the content: a folder that changed is asked about again. */
const admitting = (trust: SkillTrust.Service, places: ReadonlyArray<SkillsConfig.Place>) => {
  const strange = new Set(places.filter(({ origin }) => origin === "project").map(({ path }) => path))
  const refused = new Set<string>()
  return (skill: LoadedSkill, path: string): Effect.Effect<boolean, SkillTrust.SkillTrustError> =>
    Effect.suspend(() => {
      if (!strange.has(path)) return Effect.succeed(true)
      const key = JSON.stringify([skill.file.name, skill.directory, skill.hash])
      if (refused.has(key)) return Effect.succeed(false)
      return Effect.tap(trust.isTrusted(skill), (isTrusted) => Effect.sync(() => isTrusted || refused.add(key)))
    })
}

/** Folders of the project that nothing is read from, because nobody says what of them is trusted. */
const passedOver = (places: ReadonlyArray<SkillsConfig.Place>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const there = yield* Effect.filter(places, (place) =>
      Effect.orElseSucceed(fs.exists(path.resolve(place.path)), () => false)
    )
    const problems = there.map(
      ({ path }) =>
        new SkillSource.SkillSourceError({
          source: FOLDERS,
          reason: "Refused",
          subject: path,
          message: `The skills of the project in ${path} are left out: nobody says which are trusted`,
          hint: 'Give `Skills.layer` a `trust`, for example `SkillLock.layer`, or set `projectSkills: "off"`'
        })
    )
    yield* Effect.forEach(problems, SkillSource.warn, { discard: true })
    return problems
  })

const folders = (config: SkillsConfig.SkillsConfig, given: FolderOptions | undefined, hasTrust: boolean) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<SkillTrust.SkillTrust | FileSystem.FileSystem | Path.Path>()
    const all = SkillsConfig.placesOf(config)
    const places = hasTrust ? all : all.filter(({ origin }) => origin !== "project")
    const left = hasTrust ? [] : yield* passedOver(all.filter(({ origin }) => origin === "project"))
    const { scan } = yield* SkillFolders.register({
      ...given,
      watch: given?.watch ?? false,
      paths: places.map(({ path }) => path),
      admit: admitting(yield* SkillTrust.SkillTrust, places),
      allowedScriptTypes: config.allowedScriptTypes,
      traits: traitsOf(config, given?.traits),
      around: (skill, execute) =>
        Effect.zipRight(
          Effect.provide(FolderExecution.trusted(skill), context),
          config.lazyLoadContext
            ? execute
            : Effect.flatMap(execute, (output) => Effect.provide(FolderExecution.withContents(skill, output), context))
        )
    })
    return Effect.map(scan, (scan) => {
      const report = reportOf(scan)
      return { ...report, problems: [...report.problems, ...left] }
    })
  })

const checkOf =
  (source: string, report: Effect.Effect<SkillSource.Report>) =>
  (name: string): Health.Check => ({
    name: `${name}: ${source}`,
    check: Effect.flatMap(report, ({ problems }) => {
      const problem = problems.find(({ reason }) => reason === "Unavailable")
      return problem === undefined ? Effect.void : Effect.fail(problem)
    })
  })

const populate = (config: SkillsConfig.SkillsConfig, given: Collaborators) =>
  Effect.gen(function* () {
    const { name } = config
    yield* SkillRegistration.register(...(given.skills ?? []))
    const read = yield* SkillSource.register(...sourcesOf(config, given))
    const reports = read.map((report) => Effect.succeed(report))
    const checks = read.map((report) => checkOf(report.source, Effect.succeed(report))(name))
    if (config.enableSkillSources) {
      const report = yield* folders(config, given.folders, given.trust !== undefined)
      reports.push(report)
      checks.push(checkOf(FOLDERS, report)(name))
    }
    return { name, sources: Effect.all(reports), health: Health.sum(checks) }
  }).pipe(Effect.annotateLogs("skills", config.name))

/** The configuration's limits around whatever runs scripts. */
const limited = (config: SkillsConfig.SkillsConfig, runner: ScriptRunner.Service): ScriptRunner.Service => ({
  run: (request) => {
    const type = request.script.slice(request.script.lastIndexOf(".") + 1)
    if (config.allowedScriptTypes.some((allowed) => allowed === type)) {
      return runner.run({ ...request, timeout: request.timeout ?? Duration.seconds(config.scriptTimeoutSeconds) })
    }
    return new ScriptRunner.ScriptError({
      skillName: request.skillName,
      script: request.script,
      reason: "NotAllowed",
      message: `Scripts of this type are not run here: ${request.script}`,
      hint: `Allowed are ${config.allowedScriptTypes.join(", ") || "none"}`
    })
  }
})

const cacheOf = (
  config: SkillsConfig.SkillsConfig,
  backend: Collaborators["cache"]
): Layer.Layer<SkillResultCache.SkillResultCache, any, any> => {
  const options = { ttl: Duration.seconds(config.cacheTtlSeconds) }
  if (!config.cacheEnabled) return SkillResultCache.layerNoop
  if (config.cacheBackend === "in_memory") return SkillResultMemory.layer(options)
  return backend === undefined
    ? Layer.fail(
        new SkillsConfig.SkillsConfigurationError({
          message: 'Skills cannot be built: cacheBackend is "cache", and there is none',
          hint: "Give `Skills.layer` a `cache`"
        })
      )
    : Layer.provide(SkillResultBackend.layer(options), backend)
}

/** Hooks and bus of the context serve executions outside of runs. */
const executorOf = (config: SkillsConfig.SkillsConfig) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const hooks = yield* Effect.serviceOption(Hooks.Hooks)
      const bus = yield* Effect.serviceOption(EventBus.EventBus)
      return DefaultSkillExecutor.layer({
        timeout: Duration.seconds(config.defaultTimeoutSeconds),
        maxRetries: config.maxRetries,
        maxConcurrent: config.maxConcurrentExecutions,
        hooks: Option.getOrUndefined(hooks),
        bus: Option.getOrUndefined(bus)
      })
    })
  )

const enabled = (config: SkillsConfig.SkillsConfig, given: Collaborators): Layer.Layer<Out, any, any> => {
  const runner = Layer.map(given.scripts ?? ScriptRunner.layerNoop, (context) =>
    Context.make(ScriptRunner.ScriptRunner, limited(config, Context.get(context, ScriptRunner.ScriptRunner)))
  )
  const populated = Layer.scoped(Skills, populate(config, given)).pipe(
    Layer.provide(Layer.merge(runner, given.trust ?? SkillTrust.layerNoop))
  )
  const executor = executorOf(config).pipe(
    Layer.provide(
      Layer.merge(
        config.enforcePermissions
          ? (given.permissions ?? PermissionChecker.layerStatic({}))
          : PermissionChecker.layerNoop,
        given.approvals ?? ApprovalGate.layerDeny
      )
    )
  )
  // A registry of its own, not `DefaultSkillRegistry.layerEmpty`, which other layers may share.
  const registry = Layer.scoped(SkillRegistry.SkillRegistry, DefaultSkillRegistry.make)
  return Layer.merge(populated, executor).pipe(Layer.provideMerge(Layer.merge(registry, cacheOf(config, given.cache))))
}

const compose = (
  config: Effect.Effect<SkillsConfig.SkillsConfig, any>,
  given: Collaborators
): Layer.Layer<Out, any, any> =>
  Layer.unwrapEffect(Effect.map(config, (config) => (config.enabled ? enabled(config, given) : noop(config.name))))

/** Files are read for folders of skills alone. */
type Files<L> = L extends
  | { readonly config: { readonly enableSkillSources: false } }
  | { readonly config: { readonly enabled: false } }
  ? never
  : FileSystem.FileSystem | Path.Path

/**
 * The defaults of `SkillsConfig` with some fields replaced. Files are required unless `enableSkillSources` is `false`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { PermissionChecker, Skill, Skills } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const invoice = Skill.make("invoice", {
 *   description: "The number of the latest invoice",
 *   permissions: ["invoices.read"],
 *   handler: () => Effect.succeed("2031-0007")
 * })
 *
 * const skills = Skills.layer({
 *   config: { enableSkillSources: false },
 *   skills: [invoice],
 *   permissions: PermissionChecker.layerStatic({ ada: ["invoices.*"] })
 * })
 *
 * const agents = Agents.layerWith({ skills })
 * ```
 */
export const layer = <const L extends Collaborators & { readonly config?: SkillsConfig.Options | undefined } = {}>(
  options?: (L & NothingElse<L, "config">) | undefined
): Layer.Layer<Out, Failure | ErrorOf<L>, Files<L> | ContextOf<L>> =>
  compose(
    Effect.suspend(() => SkillsConfig.make(options?.config)),
    options ?? {}
  )

/**
 * Configured from the environment (`LEX_AI_SKILLS__*`).
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Collaborators = {}>(
  options?: (L & NothingElse<L>) | undefined
): Layer.Layer<Out, Failure | ConfigError.ConfigError | ErrorOf<L>, FileSystem.FileSystem | Path.Path | ContextOf<L>> =>
  compose(SkillsConfig.config, options ?? {})

/**
 * How the sources of skills are.
 *
 * @since 0.1.0
 * @category accessors
 */
export const health: Effect.Effect<Health.Report, never, Skills> = Effect.flatMap(Skills, ({ health }) => health)
