/**
 * The default skill registry: skills by name, in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Backlog from "../../internal/fiber/Backlog.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type { ToolDefinition } from "../../llm/model/LlmClient.js"
import * as Hooks from "../../observability/Hooks.js"
import * as Run from "../../observability/Run.js"
import * as Permissions from "../definition/Permissions.js"
import type * as Skill from "../definition/Skill.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import { SkillAlreadyRegisteredError, SkillValidationError } from "../definition/SkillError.js"
import { SkillRegisteredHook } from "../definition/SkillHooks.js"
import * as SkillRegistration from "./SkillRegistration.js"
import { type Change, type ListOptions, type Service, SkillRegistry } from "./SkillRegistry.js"

/**
 * Maximum length of a skill's name, in UTF-16 code units.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_NAME_LENGTH = 256

/**
 * Changes a slow subscriber may lag before it loses the oldest.
 *
 * @since 0.1.0
 * @category constants
 */
export const CHANGES_CAPACITY = 256

/** Cached filters: permissions come from users, and there may be many. */
const KEPT_FILTERS = 64

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const keep = <A>(kept: Map<string, A>, key: string, value: A): A => {
  if (kept.size >= KEPT_FILTERS && !kept.has(key)) kept.delete(kept.keys().next().value as string)
  kept.set(key, value)
  return value
}

const nameIssue = (name: string): string | undefined =>
  name.length > MAX_NAME_LENGTH
    ? `The name is longer than ${MAX_NAME_LENGTH} characters`
    : name !== name.trim()
      ? "The name begins or ends with white space"
      : VisibleText.visible(name) !== name
        ? "The name holds characters that cannot be seen"
        : undefined

/** Why a skill cannot be registered. */
const problemOf = (skill: Skill.Bound): SkillValidationError | undefined => {
  if (skill.problem !== undefined) return skill.problem
  const issue = skill.erased.reference
    ? "It only stands for a registered skill of its name"
    : nameIssue(skill.definition.name)
  if (issue === undefined) return undefined
  const skillName = VisibleText.visible(skill.definition.name.slice(0, MAX_NAME_LENGTH))
  return new SkillValidationError({
    skillName,
    errors: [issue],
    message: `The skill "${skillName}" cannot be registered: ${issue}`,
    hint: skill.erased.reference ? "Register the skill itself" : "Rename it, for example with `Skill.annotate`"
  })
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const taken = (skillName: string): SkillAlreadyRegisteredError =>
  new SkillAlreadyRegisteredError({
    skillName,
    message: `A skill named "${skillName}" is already registered`,
    hint: "Rename one of them, unregister the other first, or use `replace`"
  })

interface Entry {
  readonly skill: Skill.Bound
  /** The same object as long as the skill stays, so that it can serve as a cache key. */
  readonly schema: ToolDefinition
}

const entryOf = (skill: Skill.Bound): Entry => {
  const { description, name, parametersSchema } = skill.definition
  return { skill, schema: { name, description, parameters: parametersSchema } }
}

/** The skills that pass a filter. */
interface Selection {
  readonly definitions: ReadonlyArray<SkillDefinition>
  readonly schemas: ReadonlyArray<ToolDefinition>
}

const select = (entries: Iterable<Entry>, options: ListOptions | undefined): Selection => {
  const { category, permissions } = options ?? {}
  const isAllowed = permissions === undefined ? undefined : Permissions.allows(permissions)
  const definitions: Array<SkillDefinition> = []
  const schemas: Array<ToolDefinition> = []
  for (const { schema, skill } of entries) {
    const { definition } = skill
    if (category !== undefined && definition.category !== category) continue
    if (isAllowed !== undefined && !definition.permissions.every(isAllowed)) continue
    definitions.push(definition)
    schemas.push(schema)
  }
  return { definitions, schemas }
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const keyOf = (options: ListOptions | undefined): string =>
  options === undefined || (options.category === undefined && options.permissions === undefined)
    ? ""
    : JSON.stringify([options.category ?? null, options.permissions && [...new Set(options.permissions)].sort()])

/**
 * A new, empty registry. When the scope closes, it is emptied and its changes end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Service, never, Scope.Scope> = Effect.gen(function* () {
  const outside = Option.getOrElse(yield* Effect.serviceOption(Hooks.Hooks), () => Hooks.noop)
  const entries = new Map<string, Entry>()
  const selections = new Map<string, Selection>()
  const watchers = new Set<Backlog.Backlog<Change>>()
  let isClosed = false

  const changed = (change: Change): void => {
    selections.clear()
    for (const watcher of watchers) watcher.offer(change)
  }
  const selection = (options: ListOptions | undefined): Selection => {
    const key = keyOf(options)
    return selections.get(key) ?? keep(selections, key, select(entries.values(), options))
  }
  const put = (skill: Skill.Bound, _tag: "Registered" | "Replaced"): Effect.Effect<void> => {
    const skillName = skill.definition.name
    entries.set(skillName, entryOf(skill))
    changed({ _tag, skillName })
    return Effect.flatMap(Run.Run, (run) => {
      const hooks = Run.isCurrent(run) ? run.hooks : outside
      return hooks.has(SkillRegisteredHook) ? hooks.call(SkillRegisteredHook, { skillName }) : Effect.void
    })
  }

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      entries.clear()
      selections.clear()
      for (const watcher of watchers) watcher.end()
    })
  )

  return {
    // Looked up and added in one step: of two concurrent registrations one comes first.
    register: (skill) =>
      Effect.suspend((): Effect.Effect<void, SkillAlreadyRegisteredError | SkillValidationError> => {
        const problem = problemOf(skill)
        if (problem !== undefined) return problem
        return entries.has(skill.definition.name) ? taken(skill.definition.name) : put(skill, "Registered")
      }),
    replace: (skill) =>
      Effect.suspend(
        () => problemOf(skill) ?? put(skill, entries.has(skill.definition.name) ? "Replaced" : "Registered")
      ),
    unregister: (name, skill) =>
      Effect.sync(() => {
        const entry = entries.get(name)
        if (entry === undefined || (skill !== undefined && entry.skill !== skill)) return false
        entries.delete(name)
        changed({ _tag: "Removed", skillName: name })
        return true
      }),
    get: (name) => Effect.sync(() => Option.map(Option.fromNullable(entries.get(name)), ({ skill }) => skill)),
    list: (options) => Effect.sync(() => selection(options).definitions),
    schemas: (options) => Effect.sync(() => selection(options).schemas),
    changes: Stream.unwrapScoped(
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const watcher = new Backlog.Backlog<Change>(CHANGES_CAPACITY, "sliding")
            if (isClosed) watcher.end()
            else watchers.add(watcher)
            return watcher
          }),
          (watcher) => Effect.sync(() => watchers.delete(watcher))
        ),
        Backlog.toStream
      )
    )
  }
})

/**
 * An empty registry.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerEmpty: Layer.Layer<SkillRegistry> = Layer.scoped(SkillRegistry, make)

/**
 * A registry of these skills. Their requirements are taken from the context of the layer; a service present where a
 * skill is executed takes precedence.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultSkillRegistry, Skill } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const greet = Skill.make("greet", { description: "Greets", handler: () => Effect.succeed("hello") })
 *
 * const registry = DefaultSkillRegistry.layer(greet)
 * ```
 */
export const layer = <const S extends ReadonlyArray<Skill.Any>>(
  ...skills: S
): Layer.Layer<
  SkillRegistry,
  SkillAlreadyRegisteredError | SkillValidationError,
  Exclude<Skill.ServicesOf<S[number]>, Scope.Scope>
> =>
  // Not `layerEmpty`: layers are memoized by value, and this registry must not be shared.
  Layer.provideMerge(SkillRegistration.layer(...skills), Layer.scoped(SkillRegistry, make)) as Layer.Layer<
    any,
    any,
    any
  >
