/**
 * Runs stages over a growing context: each stage reads the results of earlier stages and adds its own.
 *
 * A result is stored under the stage's key, `as`. Without a key a map is merged into the context, replacing older keys,
 * and any other value is stored under `output`. The first failure ends the pipeline; its result is the last context.
 * Contexts are immutable: each stage gets its own copy, so that it cannot affect the others.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import * as CompositeSkill from "../definition/CompositeSkill.js"
import * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import { type SkillError, SkillExecutionError } from "../definition/SkillError.js"
import * as SkillBinding from "./SkillBinding.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<P> extends SkillDefinition.Traits, SkillDefinition.Confirmation<NoInfer<P>> {
  readonly description: string
  /** The first context: a schema, or the parameters of a skill. Default: any map. */
  readonly parameters?:
    | Schema.Schema<P, any, never>
    | { readonly like: Skill.Skill<P, unknown, unknown, unknown> }
    | undefined
}

/**
 * A skill from parameters `P` to the last context `C`, to which stages can be added.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pipeline<in P, out C, out E = never, out R = never> extends Skill.Skill<P, C, E, R> {
  readonly stages: ReadonlyArray<Stage>
  readonly options: Options<any>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Stage {
  readonly skill: Skill.Any
  /** Key of the result. */
  readonly as?: string | undefined
  /** Selects from the context what the skill receives. Default: all of it. */
  readonly input?: ((context: any) => unknown) | undefined
}

/** The context after a map was merged. */
type Merged<C, A> = { readonly [K in keyof C | keyof A]: K extends keyof A ? Entry<C, A, K> : C[K & keyof C] }

/** An absent optional key keeps the previous value. */
type Entry<C, A, K extends keyof A> =
  {} extends Pick<A, K> ? Exclude<A[K], undefined> | (K extends keyof C ? C[K] : undefined) : A[K]

/**
 * The context after a stage.
 *
 * @since 0.1.0
 * @category models
 */
export type Grown<C, A, K extends string> = [K] extends [never]
  ? 0 extends 1 & SkillBinding.AsParams<A>
    ? Readonly<Record<string, unknown>>
    : SkillBinding.AsParams<A> extends infer H
      ? H extends unknown
        ? Merged<C, H>
        : never
      : never
  : Merged<C, { readonly [Key in K]: A }>

type Context = Readonly<Record<string, unknown>>

/** The context, and its JSON form for references, if there are any. */
interface State {
  readonly context: Context
  readonly json: Context | undefined
}

const entry = (stage: Stage, result: unknown): Context =>
  stage.as === undefined ? SkillBinding.toParams(result) : Object.fromEntries([[stage.as, result]])

const inputOf = (pipeline: string, { input, skill }: Stage, { context, json }: State) => {
  if (input === undefined) {
    return skill.erased.reference
      ? Effect.succeed(SkillBinding.copy(json ?? context))
      : SkillBinding.fit(skill, SkillBinding.copy(context))
  }
  return Effect.flatMap(
    Effect.try({
      try: () => input(SkillBinding.copy(context)),
      catch: (cause) =>
        new SkillExecutionError({
          message: `The input of the stage "${skill.definition.name}" of the pipeline "${pipeline}" threw`,
          skillName: pipeline,
          cause
        })
    }),
    (params) => SkillBinding.fit(skill, params)
  )
}

const build = (
  name: string,
  options: Options<any>,
  stages: ReadonlyArray<Stage>,
  schema: Schema.Schema<any, any, never> | undefined
): any => {
  const needsJson = stages.some(({ input, skill }) => skill.erased.reference && input === undefined)
  const composite: Skill.Skill<unknown, unknown, unknown> = CompositeSkill.make(name, {
    ...options,
    uses: stages.map(({ skill }) => skill),
    parameters: options.parameters ?? Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    returns: schema,
    handler: (params, run) =>
      Effect.gen(function* () {
        const execute = run as (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>
        let state: State = {
          context: SkillBinding.toParams(params),
          json: needsJson ? SkillBinding.toParams(composite.erased.encodeParams(params) ?? params) : undefined
        }
        for (const stage of stages) {
          const result = yield* execute(stage.skill, yield* inputOf(name, stage, state))
          state = {
            context: { ...state.context, ...entry(stage, result) },
            json:
              state.json === undefined
                ? undefined
                : { ...state.json, ...entry(stage, yield* SkillBinding.toJson(stage.skill, result)) }
          }
        }
        return state.context
      })
  })
  return Object.assign(composite, { stages, options })
}

/**
 * A pipeline without stages, whose result is the given context.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Skill, SkillPipeline } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const language = Skill.make("language", {
 *   description: "Recognizes the language of a text",
 *   parameters: { text: Schema.String },
 *   returns: Schema.Struct({ language: Schema.String, certainty: Schema.Number }),
 *   handler: () => Effect.succeed({ language: "en", certainty: 0.9 })
 * })
 * const greet = Skill.make("greet", {
 *   description: "Greets in a language",
 *   parameters: { to: Schema.String, language: Schema.String },
 *   returns: Schema.String,
 *   handler: ({ to }) => Effect.succeed(`Hello ${to}`)
 * })
 *
 * const answer = SkillPipeline.make("answer", {
 *   description: "Answers a text",
 *   parameters: Schema.Struct({ text: Schema.String, user: Schema.String })
 * }).pipe(
 *   SkillPipeline.stage(language),
 *   SkillPipeline.stage(greet, {
 *     as: "greeting",
 *     input: ({ language, user }) => ({ to: user, language })
 *   })
 * )
 * ```
 */
export const make = <P = Readonly<Record<string, unknown>>>(name: string, options: Options<P>): Pipeline<P, P> =>
  build(name, options, [], undefined)

type Fits<C, P2> = SkillBinding.Fits<C, P2, {}>

/**
 * Adds a stage. `as` is the key of its result; `input` selects from the context what the skill receives. Without
 * `input` the context must fit the skill's parameters.
 *
 * @since 0.1.0
 * @category combinators
 */
export const stage: {
  <C, P2, A2, E2, R2, const K extends string = never>(
    skill: Skill.Skill<P2, A2, E2, R2>,
    options: { readonly as?: K | undefined; readonly input: (context: C) => P2 }
  ): <P, E, R>(self: Pipeline<P, C, E, R>) => Pipeline<P, Grown<C, A2, K>, E | E2 | SkillError, R | R2>
  <P2, A2, E2, R2, const K extends string = never>(
    skill: Skill.Skill<P2, A2, E2, R2>,
    options?: { readonly as?: K | undefined }
  ): <P, C, E, R>(self: Pipeline<P, C, E, R> & Fits<C, P2>) => Pipeline<P, Grown<C, A2, K>, E | E2 | SkillError, R | R2>
  <P, C, E, R, P2, A2, E2, R2, const K extends string = never>(
    self: Pipeline<P, C, E, R>,
    skill: Skill.Skill<P2, A2, E2, R2>,
    options: { readonly as?: K | undefined; readonly input: (context: C) => P2 }
  ): Pipeline<P, Grown<C, A2, K>, E | E2 | SkillError, R | R2>
  <P, C, E, R, P2, A2, E2, R2, const K extends string = never>(
    self: Pipeline<P, C, E, R>,
    skill: Skill.Skill<P2, A2, E2, R2> & Fits<C, P2>,
    options?: { readonly as?: K | undefined }
  ): Pipeline<P, Grown<C, A2, K>, E | E2 | SkillError, R | R2>
} = dual(
  (args) => Skill.isSkill(args[1]),
  (self: Pipeline<never, any>, skill: Skill.Any, options?: Omit<Stage, "skill">) =>
    build(
      self.definition.name,
      self.options,
      [...self.stages, { skill, as: options?.as, input: options?.input }],
      // The schema belonged to another context.
      undefined
    )
)

/**
 * Gives the last context a schema, which checks it and gives its JSON form. Must come last. Without one the context is
 * passed on as it is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const returns: {
  <C>(schema: Schema.Schema<C, any, never>): <P, E, R>(self: Pipeline<P, C, E, R>) => Skill.Skill<P, C, E, R>
  <P, C, E, R>(self: Pipeline<P, C, E, R>, schema: Schema.Schema<C, any, never>): Skill.Skill<P, C, E, R>
} = dual(2, (self: Pipeline<never, any>, schema: Schema.Schema<any, any, never>) =>
  build(self.definition.name, self.options, self.stages, schema)
)
