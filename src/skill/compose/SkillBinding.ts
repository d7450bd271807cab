/**
 * Passes the result of one skill to the next as parameters, checked in types and at run time.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Pipeable } from "effect/Pipeable"
import type { Any } from "../definition/Skill.js"
import type { SkillValidationError } from "../definition/SkillError.js"
import * as SkillFailure from "../definition/SkillFailure.js"

/**
 * New names of keys: `{ hits: "items" }` passes `hits` on as `items`. All keys are renamed at once, so two keys can be
 * swapped. A renamed key replaces a key that had the name before; of two entries with one new name the later wins.
 *
 * @since 0.1.0
 * @category models
 */
export type Rename = { readonly [key: string]: string }

/** Values that are not named parameters: dates, lists, options and the like. */
type NotMap =
  | string
  | number
  | bigint
  | boolean
  | symbol
  | null
  | undefined
  | Date
  | Pipeable
  | Iterable<any>
  | ((...args: never) => unknown)

/** Types that are unknown at compile time. */
type IsLoose<A> = unknown extends A ? true : string extends keyof A ? (unknown extends A[string] ? true : false) : false

/**
 * A result as parameters: a map is passed on as it is, any other value as `output`. `any` where the result type is
 * unknown.
 *
 * @since 0.1.0
 * @category models
 */
export type AsParams<A> = unknown extends A
  ? any
  : A extends NotMap
    ? { readonly output: A }
    : true extends IsLoose<A>
      ? any
      : { [K in keyof A]: A[K] }

type KeysOf<H> = H extends unknown ? keyof H : never

type Named<H, M extends Rename> = H extends unknown
  ? { [K in keyof H as K extends keyof M ? M[K] : K extends M[keyof M] ? never : K]: H[K] }
  : never

type IsAny<A> = 0 extends 1 & A ? true : false

/**
 * A result as parameters, with renamed keys.
 *
 * @since 0.1.0
 * @category models
 */
export type Renamed<A, M extends Rename> =
  true extends IsAny<AsParams<A>> ? any : [keyof M] extends [never] ? AsParams<A> : Named<AsParams<A>, M>

/**
 * `unknown` where a result `A` fits the parameters `P` under the names `M`; otherwise a type that no skill has and that
 * says why.
 *
 * @since 0.1.0
 * @category models
 */
export type Fits<A, P, M extends Rename> = [keyof M] extends [KeysOf<AsParams<A>>]
  ? [Renamed<A, M>] extends [P]
    ? unknown
    : { readonly "the result does not fit the parameters": { readonly given: Renamed<A, M>; readonly wanted: P } }
  : { readonly "a renamed key is not in the result": Exclude<keyof M, KeysOf<AsParams<A>>> }

/**
 * Whether a value is passed on as named parameters. Class instances are; dates, lists, options, maps and the like are
 * not.
 *
 * @since 0.1.0
 * @category guards
 */
export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" &&
  value !== null &&
  !(value instanceof Date) &&
  typeof (value as { readonly [Symbol.iterator]?: unknown })[Symbol.iterator] !== "function" &&
  typeof (value as { readonly pipe?: unknown }).pipe !== "function"

/** Keys are data, including `__proto__`: `fromEntries` and spreads define them, an assignment would not. */
const renamed = (value: Readonly<Record<string, unknown>>, rename: Rename | undefined) => {
  if (rename === undefined) return value
  const names = new Map(Object.entries(rename))
  const taken = new Set(names.values())
  const kept = Object.entries(value).filter(([key]) => !names.has(key) && !taken.has(key))
  const moved = Array.from(names).flatMap(([key, name]) =>
    Object.hasOwn(value, key) ? [[name, value[key]] as const] : []
  )
  // A new name whose old key is absent leaves an existing key of that name alone.
  const given = new Set(moved.map(([name]) => name))
  const spared = Object.entries(value).filter(([key]) => !names.has(key) && taken.has(key) && !given.has(key))
  return Object.fromEntries([...kept, ...spared, ...moved])
}

/**
 * A value under the parameter names of the next skill.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toParams = (value: unknown, rename?: Rename | undefined): Readonly<Record<string, unknown>> =>
  renamed(isMap(value) ? value : { output: value }, rename)

/**
 * Decodes values as the parameters of a skill. Typed values already fit; values from references and JSON sources are
 * decoded by the schema of the skill. A reference accepts anything: the skill it resolves to checks.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fit = (
  skill: Any,
  value: unknown,
  form: "typed" | "json" = "typed"
): Effect.Effect<unknown, SkillValidationError> => {
  const { erased } = skill
  if (erased.reference) return Either.right(value)
  if (form === "typed" && erased.encodeParams(value) !== undefined) return Either.right(value)
  return Effect.catchAll(erased.decode(value), (errors) =>
    erased.encodeParams(value) === undefined
      ? Either.left(SkillFailure.invalidParams(skill.definition.name, errors))
      : Either.right(value)
  )
}

/**
 * A result in its JSON form, as references accept it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toJson = (skill: Any, result: unknown): Effect.Effect<unknown, SkillValidationError> =>
  Effect.mapError(skill.erased.encode(result), (issue) => SkillFailure.invalidResult(skill.definition.name, issue))

/**
 * The result of one skill as parameters of the next.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bindResult = (
  from: Any,
  result: unknown,
  to: Any,
  rename: Rename | undefined
): Effect.Effect<unknown, SkillValidationError> =>
  to.erased.reference
    ? Effect.map(toJson(from, result), (json) => toParams(json, rename))
    : fit(to, toParams(result, rename), from.erased.reference ? "json" : "typed")

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** An empty list or plain object to fill; `undefined` for shared values: class instances, dates, primitives. */
const emptyOf = (value: unknown): object | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) return []
  return isPlain(value) ? {} : undefined
}

/**
 * A deep copy of lists and plain objects, so that a recipient may change it unnoticed by others. Class instances are
 * shared. Handles any depth and cycles.
 *
 * @since 0.1.0
 * @category conversions
 */
export const copy = <A>(value: A): A => {
  const root = emptyOf(value)
  if (root === undefined) return value
  const copies = new Map<unknown, object>([[value, root]])
  const todo: Array<readonly [from: object, to: object]> = [[value as object, root]]
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [from, to] = next
    for (const [key, item] of Object.entries(from)) {
      let made: unknown = copies.get(item)
      if (made === undefined) {
        const empty = emptyOf(item)
        if (empty !== undefined) {
          copies.set(item, empty)
          todo.push([item, empty])
        }
        made = empty ?? item
      }
      // Defined instead of assigned, because of `__proto__`.
      Object.defineProperty(to, key, { value: made, configurable: true, enumerable: true, writable: true })
    }
  }
  return root as A
}
