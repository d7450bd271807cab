/**
 * Converts skills to tools and tools to skills.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import * as HandledTool from "../../tool/definition/HandledTool.js"
import * as Tool from "../../tool/definition/Tool.js"
import { predicateOf } from "../../tool/definition/ToolCombinators.js"
import { ToolDefinitionError } from "../../tool/definition/ToolError.js"
import * as Skill from "../definition/Skill.js"
import * as SkillCodec from "../definition/SkillCodec.js"
import type { SkillResult } from "../definition/SkillDefinition.js"
import { type SkillError, SkillExecutionError } from "../definition/SkillError.js"
import * as SkillExecutor from "./SkillExecutor.js"

/** Metadata key that preserves a tool's owner module. */
const OWNER = "toolOwner"

const ownerOf = (skill: Skill.Any): string | undefined => {
  const owner = skill.definition.metadata[OWNER]
  return typeof owner === "string" ? owner : undefined
}

/** The skill executor applies timeout, retries and limits, so the tool adds none. */
const wrap = (
  skill: Skill.Any,
  parts: {
    readonly decode: Tool.Erased["decode"]
    readonly encodeParams: Tool.Erased["encodeParams"]
    readonly encode: Tool.Erased["encode"]
    readonly requiresApproval: Tool.Erased["requiresApproval"]
    readonly handle: Tool.Erased["handle"]
  }
): any => {
  const { definition, problem } = skill
  return Tool.fromParts({
    name: definition.name,
    description: definition.description,
    parameters: definition.parametersSchema,
    annotations: {
      timeout: Duration.infinity,
      retries: 0,
      idempotent: definition.idempotent,
      owner: ownerOf(skill)
    },
    problem:
      problem &&
      new ToolDefinitionError({
        toolName: definition.name,
        message: problem.message,
        ...(problem.hint === undefined ? {} : { hint: problem.hint })
      }),
    erased: {
      ...parts,
      decodeFailure: () => undefined,
      encodeFailure: () => undefined,
      isFatal: () => false,
      isRetryable: () => false
    }
  })
}

const decodeOf =
  (skill: Skill.Any): Tool.Erased["decode"] =>
  (args) =>
    Effect.mapError(skill.erased.decode(args), (issues) => issues.map((message) => ({ path: "", message })))

const outputOf = (result: SkillResult): Effect.Effect<unknown, SkillExecutionError> =>
  result.success
    ? Effect.succeed(result.output)
    : Effect.fail(
        new SkillExecutionError({
          skillName: result.skillName,
          message: result.error ?? `The skill "${result.skillName}" did not succeed`
        })
      )

/**
 * A skill as a tool. The `SkillExecutor` of the tool's context executes each call for the user and session of the run
 * (`ApprovalGate.Requester`), with the skill's permissions, cache, timeout, retries and limits. The tool runner asks
 * for confirmation, once. Failures are observations for the model.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Skill, SkillTool } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const hours = Skill.make("hours", { description: "The opening hours", handler: () => Effect.succeed("9 to 5") })
 *
 * // Its calls require SkillExecutor.
 * const clerk = Agent.make("clerk", { system: "You help at the desk.", tools: [SkillTool.toTool(hours)] })
 * ```
 *
 * @since 0.1.0
 * @category conversions
 */
export const toTool = <P, A, E, R>(
  skill: Skill.Skill<P, A, E, R>
): Tool.Tool<P, A, never, R | SkillExecutor.SkillExecutor, E | SkillError> => {
  const { encode, encodeParams, needsConfirmation } = skill.erased
  return wrap(skill as Skill.Any, {
    decode: decodeOf(skill as Skill.Any),
    encodeParams,
    encode,
    requiresApproval: needsConfirmation,
    handle: (params, { id }) =>
      Effect.flatMap(ApprovalGate.Requester, (requester) =>
        Effect.flatMap(SkillExecutor.SkillExecutor, (executor) =>
          HandledTool.outside(
            Effect.map(executor.run(skill, params, { ...requester, id, confirmed: true }), ({ output }) => output)
          )
        )
      )
  })
}

/**
 * A registered skill as a tool: each call executes the skill that has the name at that time.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromRegistry = (
  skill: Skill.Bound,
  executor: SkillExecutor.Service
): Tool.Tool<never, unknown, never, never, unknown> => {
  const decode = decodeOf(skill)
  const { needsConfirmation } = skill.erased
  const { name } = skill.definition
  return wrap(skill, {
    // Decoded to report all issues to the model and to show the approver the values; executed from the raw arguments by
    // whichever skill has the name then.
    decode: (args) => Effect.map(decode(args), (decoded): Checked => ({ args, decoded })),
    encodeParams: (checked) => (checked as Checked).args,
    encode: Effect.succeed,
    requiresApproval: ({ decoded }: Checked) => needsConfirmation(decoded),
    handle: ({ args, decoded }: Checked, { id }) =>
      Effect.flatMap(ApprovalGate.Requester, (requester) =>
        Effect.flatMap(
          HandledTool.outside(
            executor.execute({ ...requester, id, name, params: args, confirmed: needsConfirmation(decoded) })
          ),
          outputOf
        )
      )
  })
}

interface Checked {
  readonly args: unknown
  readonly decoded: unknown
}

/**
 * A tool as a skill: schemas, timeout, retries, approval and owner are kept. Unset settings come from the skill
 * executor. By default it is not cacheable and requires no permissions.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromTool = <P, A, E, R, F>(
  tool: Tool.Tool<P, A, E, R, F>,
  options?: Skill.Changes<P> | undefined
): Skill.Skill<P, A, F, R> => {
  const { annotations, erased, problem } = tool
  const skill = Skill.fromParts<P, A, F, R>(tool.name, {
    description: tool.description,
    parametersSchema: tool.parameters,
    category: "tool",
    timeout: annotations.timeout,
    maxRetries: annotations.retries,
    idempotent: annotations.idempotent,
    metadata: annotations.owner === undefined ? {} : { [OWNER]: annotations.owner },
    requiresConfirmation: erased.requiresApproval !== predicateOf(false),
    problem: problem && { message: problem.message, hint: problem.hint ?? "Correct the tool", cause: problem },
    erased: {
      decode: SkillCodec.decoding(erased),
      encodeParams: erased.encodeParams,
      needsConfirmation: erased.requiresApproval,
      handle: (params, { attempt, id }) => erased.handle(params, { id, idempotencyKey: id, attempt }),
      encode: erased.encode,
      decodeResult: Effect.succeed,
      isRetryable: erased.isRetryable
    }
  })
  return options === undefined ? skill : Skill.annotate(skill, options)
}
