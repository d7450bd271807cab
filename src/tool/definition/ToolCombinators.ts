/**
 * Changes a tool: its fatal failures, annotations, requirements and approval.
 *
 * @private
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import { dual } from "effect/Function"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import { type Annotations, type Any, build, isTool, type Tool } from "./ToolContract.js"

export const never = () => false
const always = () => true

/**
 * The predicate for an option: a constant or a function. A function that throws requires approval. Equal constants give
 * the same function.
 *
 * @internal
 */
export const predicateOf = <P>(when: boolean | ((params: P) => boolean)): ((params: P) => boolean) => {
  if (typeof when !== "function") return when ? always : never
  return (params) => {
    try {
      return when(params)
    } catch {
      // The call may be harmful.
      return true
    }
  }
}

/**
 * The tool with a handler that is made of steps: a durable run records those and not the call.
 *
 * @internal
 */
export const composed = <P, A, E, R, F>(self: Tool<P, A, E, R, F>): Tool<P, A, E, R, F> =>
  build({ ...self, erased: { ...self.erased, isComposed: true } })

/**
 * The tool with a handler that asks the caller of the run for the result.
 *
 * @internal
 */
export const ofCaller = <P, A, E, R, F>(self: Tool<P, A, E, R, F>): Tool<P, A, E, R, F> =>
  build({ ...self, erased: { ...self.erased, isClient: true } })

/**
 * The tags of a handler's failures.
 *
 * @since 0.1.0
 * @category models
 */
export type TagsOf<F> = F extends { readonly _tag: infer T extends string } ? T : never

/**
 * Failures with these tags end the run and show in the tool's `E`; its other failures stay observations.
 *
 * @since 0.1.0
 * @category combinators
 */
export const failOn: {
  <F, const T extends TagsOf<F>>(
    ...tags: ReadonlyArray<T>
  ): <P, A, E, R>(self: Tool<P, A, E, R, F>) => Tool<P, A, E | Extract<F, { readonly _tag: T }>, R, F>
  <P, A, E, R, F, const T extends TagsOf<F>>(
    self: Tool<P, A, E, R, F>,
    ...tags: ReadonlyArray<T>
  ): Tool<P, A, E | Extract<F, { readonly _tag: T }>, R, F>
} = dual(
  (args) => isTool(args[0]),
  (self: Any, ...tags: ReadonlyArray<string>): any => {
    const set = new Set<unknown>(tags)
    const before = self.erased.isFatal
    return build({
      ...self,
      erased: {
        ...self.erased,
        isFatal: (error) =>
          before(error) ||
          (typeof error === "object" && error !== null && set.has((error as { readonly _tag?: unknown })._tag))
      }
    })
  }
)

/**
 * The tool with other annotations; unset fields keep their value.
 *
 * @since 0.1.0
 * @category combinators
 */
export const annotate: {
  (annotations: Annotations): <P, A, E, R, F>(self: Tool<P, A, E, R, F>) => Tool<P, A, E, R, F>
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, annotations: Annotations): Tool<P, A, E, R, F>
} = dual(
  2,
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, annotations: Annotations): Tool<P, A, E, R, F> =>
    build({
      ...(self as unknown as Any),
      annotations: {
        timeout: annotations.timeout ?? self.annotations.timeout,
        retries: annotations.retries ?? self.annotations.retries,
        idempotent: annotations.idempotent ?? annotations.readOnly ?? self.annotations.idempotent,
        readOnly: annotations.readOnly ?? self.annotations.readOnly,
        onUnknown: annotations.onUnknown ?? self.annotations.onUnknown,
        polling: annotations.polling ?? self.annotations.polling,
        owner: annotations.owner ?? self.annotations.owner,
        secretParams: annotations.secretParams ?? self.annotations.secretParams
      }
    })
)

/**
 * The tool with the requirements of its handler provided. A service that is present where the tool is called wins.
 *
 * @since 0.1.0
 * @category combinators
 */
export const provideContext: {
  <R2>(context: Context.Context<R2>): <P, A, E, R, F>(self: Tool<P, A, E, R, F>) => Tool<P, A, E, Exclude<R, R2>, F>
  <P, A, E, R, F, R2>(self: Tool<P, A, E, R, F>, context: Context.Context<R2>): Tool<P, A, E, Exclude<R, R2>, F>
} = dual(
  2,
  <P, A, E, R, F, R2>(self: Tool<P, A, E, R, F>, context: Context.Context<R2>): Tool<P, A, E, Exclude<R, R2>, F> => {
    const { compensation, outcome } = self.erased
    return build({
      ...(self as unknown as Any),
      erased: {
        ...self.erased,
        handle: (params, call) => CapturedContext.provide(self.erased.handle(params, call), context),
        ...(outcome === undefined
          ? {}
          : { outcome: (params, call) => CapturedContext.provide(outcome(params, call), context) }),
        ...(compensation === undefined
          ? {}
          : {
              compensation: {
                ...compensation,
                run: (params, result, info) => CapturedContext.provide(compensation.run(params, result, info), context)
              }
            })
      }
    })
  }
)

/**
 * Whether a call of the tool requires approval, always or depending on its arguments; replaces the setting of the tool.
 * A function that throws requires it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withApproval: {
  <P>(when: boolean | ((params: P) => boolean)): <A, E, R, F>(self: Tool<P, A, E, R, F>) => Tool<P, A, E, R, F>
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, when: boolean | ((params: P) => boolean)): Tool<P, A, E, R, F>
} = dual(
  2,
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, when: boolean | ((params: P) => boolean)): Tool<P, A, E, R, F> =>
    build({
      ...(self as unknown as Any),
      erased: { ...self.erased, requiresApproval: predicateOf(when) }
    })
)
