/**
 * Presents several skill registries as one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import type { SkillAlreadyRegisteredError } from "../definition/SkillError.js"
import { keep, keyOf, make, taken } from "./DefaultSkillRegistry.js"
import { type ListOptions, type Service, SkillRegistry } from "./SkillRegistry.js"

/**
 * The entries of all registries; of several with one name, the first. Returns the same array until an entry changes.
 */
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

/** Presents the registries as one; new skills are registered in the first. */
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
 * One registry over the skills of several, following their changes. A name that two of them share fails the layer; a
 * later duplicate resolves to the first registry. Skills registered here are added to none of them.
 *
 * @example
 * ```ts
 * import { DefaultSkillRegistry, MergedSkillRegistry, Skill } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const greet = Skill.make("greet", { description: "Greets", handler: () => Effect.succeed("hello") })
 * const leave = Skill.make("leave", { description: "Says goodbye", handler: () => Effect.succeed("goodbye") })
 *
 * const registry = MergedSkillRegistry.layer(DefaultSkillRegistry.layer(greet), DefaultSkillRegistry.layer(leave))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const L extends readonly [Source, ...ReadonlyArray<Source>]>(
  ...layers: L
): Layer.Layer<
  SkillRegistry,
  Layer.Layer.Error<L[number]> | SkillAlreadyRegisteredError,
  Layer.Layer.Context<L[number]>
> => {
  // One tag per layer, so that all are built as parts of one layer and shared parts are built once.
  const placed = layers.map((layer, i) => {
    const tag = Context.GenericTag<SkillRegistry, Service>(`effect-lexigram/skill/SkillRegistry/merge/${i}`)
    return { tag, layer: Layer.project(layer, SkillRegistry, tag, (registry) => registry) }
  })
  const merged = Effect.gen(function* () {
    const own = yield* make
    // A layer given twice is one registry.
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
