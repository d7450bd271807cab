/**
 * Tracks the skills that a run has activated, and restricts its tools accordingly.
 *
 * Once a skill with `allowed-tools` is active, a run may call only the tools that its active skills allow together, and
 * those of the catalog; a skill without the field changes nothing. A nested run starts with the skills active at that
 * time; what it activates applies to itself only.
 *
 * Calls are judged in the order in which they start. A call that starts during an activation waits and is judged after
 * it: within one turn, calls after an activation are restricted by it, and calls before it are not.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type * as Tool from "../../tool/definition/Tool.js"
import * as ToolArguments from "../../tool/definition/ToolArguments.js"
import { ToolAccessDeniedError } from "../../tool/definition/ToolError.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type * as ToolRunner from "../../tool/ToolRunner.js"
import type { AllowedTool, SkillFile } from "../definition/SkillFile.js"
import * as AllowedTools from "./AllowedTools.js"

/**
 * The parts of a skill that matter for restrictions.
 *
 * @since 0.1.0
 * @category models
 */
export type Activated = Pick<SkillFile, "name" | "allowedTools">

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Active skills, in order of first activation. */
  readonly active: Effect.Effect<ReadonlyArray<Activated>>
  /** Whether the skill of this name is active; outside a run every skill is. */
  readonly isActive: (name: string) => Effect.Effect<boolean>
  /**
   * Activates a skill. An active skill gets its current `allowed-tools`; if it no longer has any, the last ones stay in
   * force.
   */
  readonly activate: (skill: Activated) => Effect.Effect<void>
}

/**
 * The active skills of the current run. Outside a run nothing becomes active.
 *
 * @since 0.1.0
 * @category tags
 */
export class ActiveSkills extends Ambient.Reference<ActiveSkills>()("effect-lexigram/skill/ActiveSkills", {
  defaultValue: (): Service => ({
    active: Effect.succeed([]),
    isActive: () => Effect.succeed(true),
    activate: () => Effect.void
  })
}) {}

/**
 * The active skills of a new run, starting with those of the enclosing run.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Service> = Effect.gen(function* () {
  const skills = new Map<string, Activated>()
  const outer = yield* ActiveSkills
  for (const skill of yield* outer.active) skills.set(skill.name, skill)
  return {
    active: Effect.sync(() => [...skills.values()]),
    isActive: (name) => Effect.sync(() => skills.has(name)),
    activate: ({ allowedTools, name }) =>
      Effect.sync(() => {
        skills.set(name, { name, allowedTools: allowedTools ?? skills.get(name)?.allowedTools })
      })
  }
})

const listNames = (names: ReadonlyArray<string>): string => {
  const texts = names.slice(0, 20).map((name) => VisibleText.visible(name.slice(0, 128)))
  return names.length > texts.length ? `${texts.join(", ")} and ${names.length - texts.length} more` : texts.join(", ")
}

const denial = (
  call: ToolRunner.ToolCall,
  restricting: ReadonlyArray<{ readonly name: string; readonly allowedTools: ReadonlyArray<AllowedTool> }>
): ToolRunner.Outcome => {
  const allowed = [...new Set(restricting.flatMap(({ allowedTools }) => allowedTools.map(AllowedTools.format)))]
  const name = call.name.slice(0, 128)
  const error = new ToolAccessDeniedError({
    toolName: name,
    message: `This call of "${name}" is not allowed while these skills are active: ${listNames(restricting.map((one) => one.name))}`,
    hint:
      allowed.length === 0
        ? "They allow no tools: continue with the skill tools, or answer"
        : `They allow ${listNames(allowed)}. Use one of these, or answer`
  })
  const text = `Error: ${error.message}. ${error.hint}`
  return {
    id: call.id,
    name,
    isFailure: true,
    result: text,
    observation: text,
    truncated: false,
    attempts: 0,
    error: errorInfo(error)
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends AllowedTools.Options {
  /** The tools of the run, including those for skills. */
  readonly tools: Bound
  /** The tools for skills, which are never refused. */
  readonly skillTools: ReadonlyArray<Tool.Any>
  /** The tool that activates skills: calls that start during a call of it wait. */
  readonly activating: Tool.Any
}

/**
 * Refuses calls that the active skills do not allow, with `ToolAccessDeniedError`, as an outcome the model can act on.
 * Applies to runs whose `ActiveSkills` are `skills`: provide the same there. Must be the outermost interceptor to see
 * calls in order.
 *
 * @since 0.1.0
 * @category constructors
 */
export const interceptor = (skills: Service, options: Options): ToolRunner.ToolInterceptor => {
  const { activating, tools } = options
  const exempt = new Set(options.skillTools)
  const pending = new Set<Deferred.Deferred<void>>()

  const activation = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const ended = Deferred.unsafeMake<void>(FiberId.none)
        pending.add(ended)
        return ended
      }),
      () => effect,
      (ended) =>
        Effect.sync(() => {
          pending.delete(ended)
          Deferred.unsafeDone(ended, Effect.void)
        })
    )

  const judged: ToolRunner.ToolInterceptor = (call, next) =>
    Effect.flatMap(skills.active, (active) => {
      const restricting = active.flatMap(({ allowedTools, name }) =>
        allowedTools === undefined ? [] : [{ name, allowedTools }]
      )
      if (restricting.length === 0) return next(call)
      const tool = tools.get(call.name)
      const read =
        tool === undefined ? call : { name: tool.name, params: ToolArguments.normalise(call.params, tool.parameters) }
      return restricting.some(({ allowedTools }) => AllowedTools.allows(allowedTools, read, options))
        ? next(call)
        : Effect.succeed(denial(call, restricting))
    })

  return (call, next) =>
    Effect.flatMap(ActiveSkills, (current) => {
      // Nested runs have active skills of their own.
      if (current !== skills) return next(call)
      const tool = tools.get(call.name)
      if (tool === activating) return activation(next(call))
      if (tool !== undefined && exempt.has(tool)) return next(call)
      if (pending.size === 0) return judged(call, next)
      return Effect.zipRight(
        Effect.forEach([...pending], Deferred.await, { discard: true }),
        Effect.suspend(() => judged(call, next))
      )
    })
}
