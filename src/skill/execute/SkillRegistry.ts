/**
 * The skills that can be executed, by name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
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
import * as Skill from "../definition/Skill.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import { SkillAlreadyRegisteredError, SkillValidationError } from "../definition/SkillError.js"
import { SkillRegisteredHook } from "../definition/SkillHooks.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  readonly category?: string | undefined
  /** Only skills whose permissions are all allowed by these, wildcards included (see `Permissions.Allows`). */
  readonly permissions?: ReadonlyArray<string> | undefined
}

/**
 * What happened to the skill of a name.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly _tag: "Registered" | "Replaced" | "Removed"
  readonly skillName: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a skill. A name that is taken fails with `SkillAlreadyRegisteredError` and the first skill stays; a definition
   * that cannot be used fails with `SkillValidationError`.
   */
  readonly register: (skill: Skill.Bound) => Effect.Effect<void, SkillAlreadyRegisteredError | SkillValidationError>
  /** Adds a skill, or puts it in the place of the one of its name; executions that go on end with the old one. */
  readonly replace: (skill: Skill.Bound) => Effect.Effect<void, SkillValidationError>
  /**
   * Takes a skill away; false when there was none. With `skill`, only if the name still stands for exactly that one.
   */
  readonly unregister: (name: string, skill?: Skill.Bound | undefined) => Effect.Effect<boolean>
  /** The skill of exactly this name. */
  readonly get: (name: string) => Effect.Effect<Option.Option<Skill.Bound>>
  /** The definitions that fit, in the order of registration. None: empty. */
  readonly list: (options?: ListOptions) => Effect.Effect<ReadonlyArray<SkillDefinition>>
  /**
   * The skills that fit as a model sees them, in the same order; the same objects as long as the registry does not
   * change.
   */
  readonly schemas: (options?: ListOptions) => Effect.Effect<ReadonlyArray<ToolDefinition>>
  /** What happens from the time of subscription on. A subscriber that falls far behind loses the oldest changes. */
  readonly changes: Stream.Stream<Change>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SkillRegistry extends Context.Tag("effect-lexigram/skill/SkillRegistry")<SkillRegistry, Service>() {}

/**
 * The longest name of a skill, in UTF-16 code units.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_NAME_LENGTH = 256

/**
 * Changes that a subscriber may fall behind before it loses the oldest.
 *
 * @since 0.1.0
 * @category constants
 */
export const CHANGES_CAPACITY = 256

/** Filters whose answers are kept at a time: permissions come from users, and there may be many. */
const KEPT_FILTERS = 64

const keep = <A>(kept: Map<string, A>, key: string, value: A): A => {
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

/** What keeps a skill from being registered. */
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
    hint: skill.erased.reference ? "Register the skill itself" : "Rename it, by `Skill.annotate` for example"
  })
}

const taken = (skillName: string): SkillAlreadyRegisteredError =>
  new SkillAlreadyRegisteredError({
    skillName,
    message: `A skill named "${skillName}" is registered already`,
    hint: "Rename one of them, unregister the other first, or use `replace`"
  })

interface Entry {
  readonly skill: Skill.Bound
  /** One object as long as the skill stays: what is made of it can be kept by it. */
  readonly schema: ToolDefinition
}

const entryOf = (skill: Skill.Bound): Entry => {
  const { description, name, parametersSchema } = skill.definition
  return { skill, schema: { name, description, parameters: parametersSchema } }
}

/** What a filter lets through. */
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

const keyOf = (options: ListOptions | undefined): string =>
  options === undefined || (options.category === undefined && options.permissions === undefined)
    ? ""
    : JSON.stringify([options.category ?? null, options.permissions && [...new Set(options.permissions)].sort()])

/**
 * A registry of its own, empty; what it holds is gone when the scope closes, and its changes end.
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
    // Looked up and added in one step: of two that come at once, one is first.
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
 * Registers skills until the scope closes, all of them or none; what they require is kept from here. When the scope
 * closes, a skill that somebody has put in the place of one of these stays.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = <const S extends ReadonlyArray<Skill.Any>>(
  ...skills: S
): Effect.Effect<
  void,
  SkillAlreadyRegisteredError | SkillValidationError,
  SkillRegistry | Skill.ServicesOf<S[number]> | Scope.Scope
> =>
  Effect.gen(function* () {
    const registry = yield* SkillRegistry
    const bound = yield* Skill.bindAll(skills)
    const removeAll = Effect.forEach(bound, (skill) => registry.unregister(skill.definition.name, skill), {
      discard: true
    })
    // Before they are registered: interruption may come while a hook is called.
    yield* Effect.addFinalizer(() => removeAll)
    yield* Effect.onError(Effect.forEach(bound, registry.register, { discard: true }), () => removeAll)
  })

/**
 * `register` as a layer: the skills are in the registry of the context as long as the layer lives.
 *
 * @since 0.1.0
 * @category registration
 */
export const add = <const S extends ReadonlyArray<Skill.Any>>(
  ...skills: S
): Layer.Layer<
  never,
  SkillAlreadyRegisteredError | SkillValidationError,
  SkillRegistry | Exclude<Skill.ServicesOf<S[number]>, Scope.Scope>
> => Layer.scopedDiscard(register(...skills))

/**
 * An empty registry.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerEmpty: Layer.Layer<SkillRegistry> = Layer.scoped(SkillRegistry, make)

/**
 * A registry of these skills. What they require is kept from here; a service that is present where a skill is executed
 * wins.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Skill, SkillRegistry } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const greet = Skill.make("greet", { description: "Greets", handler: () => Effect.succeed("hello") })
 *
 * const registry = SkillRegistry.layer(greet)
 * ```
 */
export const layer = <const S extends ReadonlyArray<Skill.Any>>(
  ...skills: S
): Layer.Layer<
  SkillRegistry,
  SkillAlreadyRegisteredError | SkillValidationError,
  Exclude<Skill.ServicesOf<S[number]>, Scope.Scope>
> =>
  // A layer of its own, not `layerEmpty`: layers that are one value are built once, and this is not to be the registry
  // of another layer.
  Layer.provideMerge(add(...skills), Layer.scoped(SkillRegistry, make)) as Layer.Layer<any, any, any>

/** What several registries say, each name once: the first that has it. The same array as long as they say the same. */
const joined = <A extends { readonly name: string }>(
  sources: ReadonlyArray<Service>,
  ask: (source: Service, options: ListOptions | undefined) => Effect.Effect<ReadonlyArray<A>>
): ((options?: ListOptions) => Effect.Effect<ReadonlyArray<A>>) => {
  const kept = new Map<string, { readonly inputs: ReadonlyArray<unknown>; readonly output: ReadonlyArray<A> }>()
  return (options) =>
    Effect.gen(function* () {
      const all = yield* Effect.forEach(sources, (source) => source.list())
      const parts = yield* Effect.forEach(sources, (source) => ask(source, options))
      const inputs = [...all, ...parts]
      const key = keyOf(options)
      const known = kept.get(key)
      if (known?.inputs.every((input, i) => input === inputs[i])) return known.output
      const hidden = new Set<string>()
      const output = parts.flatMap((part, i) => {
        const shown = part.filter(({ name }) => !hidden.has(name))
        for (const { name } of all[i] as ReadonlyArray<SkillDefinition>) hidden.add(name)
        return shown
      })
      return keep(kept, key, { inputs, output }).output
    })
}

/** Several registries as one; what is registered goes to the first. */
const view = (own: Service, others: ReadonlyArray<Service>): Service => {
  const sources = [own, ...others]
  const holderOf = (name: string): Effect.Effect<Option.Option<Service>> =>
    Effect.findFirst(sources, (source) => Effect.map(source.get(name), Option.isSome))
  return {
    register: (skill) =>
      Effect.flatMap(holderOf(skill.definition.name), (holder) =>
        Option.isSome(holder) ? taken(skill.definition.name) : own.register(skill)
      ),
    replace: (skill) =>
      Effect.flatMap(holderOf(skill.definition.name), (holder) => Option.getOrElse(holder, () => own).replace(skill)),
    unregister: (name, skill) =>
      Effect.flatMap(holderOf(name), (holder) => Option.getOrElse(holder, () => own).unregister(name, skill)),
    get: (name) =>
      Effect.flatMap(holderOf(name), (holder) => (Option.isSome(holder) ? holder.value.get(name) : Effect.succeedNone)),
    list: joined(sources, (source, options) => source.list(options)),
    schemas: joined(sources, (source, options) => source.schemas(options)),
    changes: Stream.mergeAll(
      sources.map((source) => source.changes),
      { concurrency: "unbounded" }
    )
  }
}

type Source = Layer.Layer<SkillRegistry, any, any>

/**
 * One registry of the skills of several: what they gain and lose later, it gains and loses with them. A name that two
 * of them have fails the layer; one that they come to have later stands for the skill of the first. Skills that are
 * registered here are in none of them.
 *
 * @since 0.1.0
 * @category layers
 */
export const merge = <const L extends readonly [Source, ...ReadonlyArray<Source>]>(
  ...layers: L
): Layer.Layer<
  SkillRegistry,
  Layer.Layer.Error<L[number]> | SkillAlreadyRegisteredError,
  Layer.Layer.Context<L[number]>
> => {
  // A tag for each, so that all are built as parts of one layer: what they share is built once.
  const placed = layers.map((layer, i) => {
    const tag = Context.GenericTag<SkillRegistry, Service>(`effect-lexigram/skill/SkillRegistry/merge/${i}`)
    return { tag, layer: Layer.project(layer, SkillRegistry, tag, (registry) => registry) }
  })
  const merged = Effect.gen(function* () {
    const own = yield* make
    // A layer that is given twice is one registry.
    const others = [...new Set(yield* Effect.forEach(placed, ({ tag }) => tag))]
    const names = new Set<string>()
    for (const other of others) {
      for (const { name } of yield* other.list()) {
        if (names.has(name)) return yield* taken(name)
        names.add(name)
      }
    }
    return view(own, others)
  })
  return placed.reduce<Layer.Layer<any, any, any>>(
    (whole, { layer }) => Layer.provide(whole, layer),
    Layer.scoped(SkillRegistry, merged)
  )
}

/**
 * Always empty: what is registered is forgotten.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillRegistry> = Layer.succeed(SkillRegistry, {
  register: () => Effect.void,
  replace: () => Effect.void,
  unregister: () => Effect.succeed(false),
  get: () => Effect.succeedNone,
  list: () => Effect.succeed([]),
  schemas: () => Effect.succeed([]),
  changes: Stream.empty
})
