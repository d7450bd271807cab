/**
 * Skills as tools, tools as skills.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import * as HandledTool from "../../tool/definition/HandledTool.js"
import * as Tool from "../../tool/definition/Tool.js"
import { ToolDefinitionError } from "../../tool/definition/ToolError.js"
import * as Skill from "../definition/Skill.js"
import * as SkillCodec from "../definition/SkillCodec.js"
import type { SkillResult } from "../definition/SkillDefinition.js"
import { type SkillError, SkillExecutionError } from "../definition/SkillError.js"
import * as SkillExecutor from "./SkillExecutor.js"

/** The module a tool belongs to, kept while it is a skill. */
const OWNER = "toolOwner"

const ownerOf = (skill: Skill.Any): string | undefined => {
  const owner = skill.definition.metadata[OWNER]
  return typeof owner === "string" ? owner : undefined
}

/** Time, further attempts and limits are the skill executor's: the tool around it adds none of its own. */
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
    erased: { ...parts, encodeFailure: () => undefined, isFatal: () => false, isRetryable: () => false }
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
 * A skill as a tool. A call is executed by the `SkillExecutor` where the tool runs, for the user and session of the run
 * (`ApprovalGate.Requester`): permissions, cache, timeout, retries and limits are the skill's. A confirmation is asked
 * for by the tool's runner, once. Failures are observations for the model.
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
 * The registered skill of a name as a tool: each call executes the skill that has the name then.
 *
 * @since 0.1.0
 * @category conversions
 */
export const registered = (
  skill: Skill.Bound,
  executor: SkillExecutor.Service
): Tool.Tool<never, unknown, never, never, unknown> => {
  const decode = decodeOf(skill)
  const { needsConfirmation } = skill.erased
  const { name } = skill.definition
  return wrap(skill, {
    // Decoded for the model to hear of all that is wrong, and for whoever approves; executed as it came, by whatever
    // has the name then.
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
 * A tool as a skill: its schemas, time, retries, approval and module are kept. What is unset comes from the skill
 * executor. Without more, it is not cacheable and needs no permissions.
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
    requiresConfirmation: erased.requiresApproval !== Tool.predicateOf(false),
    problem: problem && { message: problem.message, hint: problem.hint ?? "Correct the tool", cause: problem },
    erased: {
      decode: SkillCodec.decoding(erased),
      encodeParams: erased.encodeParams,
      needsConfirmation: erased.requiresApproval,
      handle: erased.handle,
      encode: erased.encode,
      decodeResult: Effect.succeed,
      isRetryable: erased.isRetryable
    }
  })
  return options === undefined ? skill : Skill.annotate(skill, options)
}
