/**
 * Configures the skill subsystem of an application: a registry filled from several sources, and an executor.
 *
 * The registry is filled in this order: given skills, built-in skills, skills exported by modules, custom sources,
 * folders with a `SKILL.md`. If two skills share a name, the first one wins and a warning names the other. Registering
 * a taken name later, by `SkillRegistration.layer` for example, fails.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
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
import * as DefaultSkillExecutor from "./execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "./execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "./execute/PermissionChecker.js"
import * as SkillExecutor from "./execute/SkillExecutor.js"
import * as SkillRegistration from "./execute/SkillRegistration.js"
import * as SkillRegistry from "./execute/SkillRegistry.js"
import * as SkillResultBackend from "./execute/SkillResultBackend.js"
import * as SkillResultCache from "./execute/SkillResultCache.js"
import * as SkillResultMemory from "./execute/SkillResultMemory.js"
import { FOLDERS, type Options as FolderOptions, register as registerFolders } from "./FolderSource.js"
import * as ScriptRunner from "./folder/ScriptRunner.js"
import * as SkillSource from "./folder/SkillSource.js"
import * as SkillTrust from "./folder/SkillTrust.js"
import * as ModuleDiscovery from "./ModuleDiscovery.js"
import * as SkillsConfig from "./SkillsConfig.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Name of these skills in the configuration. */
  readonly name: string
  /**
   * The report of each source, in the order in which the sources were read; for folders, that of the last scan.
   */
  readonly sources: Effect.Effect<ReadonlyArray<SkillSource.Report>>
  /** One part per source, unhealthy while something of the source is unavailable. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Skills extends Context.Tag("effect-lexigram/skill/Skills")<Skills, Service>() {}

/**
 * Services and skills that the configuration uses.
 *
 * @since 0.1.0
 * @category models
 */
export interface Collaborators {
  /** Registered before all others; a duplicate name fails the layer. */
  readonly skills?: ReadonlyArray<Skill.Any> | undefined
  /** The skills that `builtinSkills` selects from. */
  readonly builtin?: ReadonlyArray<Skill.Any> | undefined
  /** Custom sources, read after modules and before folders. */
  readonly sources?: ReadonlyArray<SkillSource.SkillSource<any>> | undefined
  /** Grants permissions where they are enforced. Default: no permission is granted. */
  readonly permissions?: Layer.Layer<PermissionChecker.PermissionChecker, any, any> | undefined
  /** Confirms executions. Default: executions that need confirmation are refused. */
  readonly approvals?: Layer.Layer<ApprovalGate.ApprovalGate, any, any> | undefined
  /** Stores results with `cacheBackend: "cache"`. */
  readonly cache?: Layer.Layer<CacheBackend.CacheBackend, any, any> | undefined
  /** Runs the scripts of folders. Default: no script is run. */
  readonly scripts?: Layer.Layer<ScriptRunner.ScriptRunner, any, any> | undefined
  /**
   * Decides which folders may be used: asked at each execution, and before a skill of the project is registered.
   * Default: all folders except those of the project, which are not read.
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
 * Errors of these collaborators.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Collaborators> = [Given<L>] extends [never] ? never : Layer.Layer.Error<Given<L>>

/**
 * Requirements of these collaborators.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Collaborators> =
  | ([Given<L>] extends [never] ? never : Layer.Layer.Context<Given<L>>)
  | Exclude<Skill.ServicesOf<SkillsIn<L>> | SkillSource.ServicesOf<SourcesIn<L>>, Scope.Scope>

/** Rejects misspelled names, which would otherwise be ignored. */
type NothingElse<L, Known extends string = never> = {
  readonly [K in Exclude<keyof L, keyof Collaborators | Known>]: never
}

/** The services of a layer of skills. */
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
 * Registers no skills and executes none.
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
  // The default selection without built-in skills is not an error.
  const isBuiltin = enableBuiltin && (given.builtin !== undefined || !isDefault(builtinSkills))
  return [
    ...(isBuiltin ? [SkillSource.fromNames("built-in", given.builtin ?? [], builtinSkills)] : []),
    ...(autoDiscover ? [ModuleDiscovery.source(scanPackages, given.discovery)] : []),
    ...(given.sources ?? [])
  ]
}

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
      const report = yield* registerFolders(config, given.folders, given.trust !== undefined)
      reports.push(report)
      checks.push(checkOf(FOLDERS, report)(name))
    }
    return { name, sources: Effect.all(reports), health: Health.sum(checks) }
  }).pipe(Effect.annotateLogs("skills", config.name))

/** Applies the configuration's script limits to a runner. */
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
      message: `Scripts of this type are not allowed: ${request.script}`,
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
          message: 'Skills cannot be built: cacheBackend is "cache", but no cache is given',
          hint: "Give `Skills.layer` a `cache`"
        })
      )
    : Layer.provide(SkillResultBackend.layer(options), backend)
}

/** Hooks and bus of the context serve executions outside a run. */
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
  // A separate registry: `DefaultSkillRegistry.layerEmpty` may be shared by other layers.
  const registry = Layer.scoped(SkillRegistry.SkillRegistry, DefaultSkillRegistry.make)
  return Layer.merge(populated, executor).pipe(Layer.provideMerge(Layer.merge(registry, cacheOf(config, given.cache))))
}

const compose = (
  config: Effect.Effect<SkillsConfig.SkillsConfig, any>,
  given: Collaborators
): Layer.Layer<Out, any, any> =>
  Layer.unwrapEffect(Effect.map(config, (config) => (config.enabled ? enabled(config, given) : noop(config.name))))

/** Only folders need the file system. */
type Files<L> = L extends
  | { readonly config: { readonly enableSkillSources: false } }
  | { readonly config: { readonly enabled: false } }
  ? never
  : FileSystem.FileSystem | Path.Path

/**
 * Overrides some defaults of `SkillsConfig`. Requires the file system unless `enableSkillSources` is `false`.
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
 * Reads the configuration from the environment (`LEX_AI_SKILLS__*`).
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Collaborators = {}>(
  options?: (L & NothingElse<L>) | undefined
): Layer.Layer<Out, Failure | ConfigError.ConfigError | ErrorOf<L>, FileSystem.FileSystem | Path.Path | ContextOf<L>> =>
  compose(SkillsConfig.config, options ?? {})

/**
 * Health of the skill sources.
 *
 * @since 0.1.0
 * @category accessors
 */
export const health: Effect.Effect<Health.Report, never, Skills> = Effect.flatMap(Skills, ({ health }) => health)
