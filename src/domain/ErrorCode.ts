/**
 * Every error code of the library. A code belongs to exactly one error class; the first of each family (`_001`) names
 * the family.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import * as Version from "./Version.js"

/**
 * Code to class name. Codes that the original numbering never assigned are absent; `reserved` holds those that it
 * assigned twice, which stay unused. Errors that this library adds start at `_100` in their family.
 *
 * @since 0.1.0
 * @category constants
 */
export const table = {
  LEX_ERR_AGT_001: "AgentError",
  LEX_ERR_AGT_002: "ToolError",
  LEX_ERR_AGT_003: "StrategyError",
  LEX_ERR_AGT_004: "AgentConfigurationError",
  LEX_ERR_AGT_005: "AgentExecutionError",
  LEX_ERR_AGT_006: "ToolNotFoundError",
  LEX_ERR_AGT_007: "ToolExecutionError",
  LEX_ERR_AGT_008: "ToolAccessDeniedError",
  LEX_ERR_AGT_009: "MaxIterationsExceededError",
  LEX_ERR_AGT_010: "BudgetExceededError",
  LEX_ERR_AGT_011: "ToolValidationError",
  LEX_ERR_AGT_100: "ToolTimeoutError",
  LEX_ERR_AGT_101: "ToolApprovalDeniedError",
  LEX_ERR_AGT_102: "ToolDefinitionError",
  LEX_ERR_AGT_103: "OutputValidationError",
  LEX_ERR_AGT_104: "RunLimitExceededError",
  LEX_ERR_AGT_105: "NoProgressError",
  LEX_ERR_AGT_106: "RunLogError",
  LEX_ERR_AGT_107: "StrategyReplyError",
  LEX_ERR_AGT_108: "PlanError",
  LEX_ERR_AGT_109: "StrategyConfigurationError",
  LEX_ERR_AGT_110: "StrategyBudgetError",
  LEX_ERR_AGT_111: "CrewError",
  LEX_ERR_AGT_112: "ApprovalError",
  LEX_ERR_AGT_113: "SteeringError",
  LEX_ERR_AGT_114: "HandoffError",
  LEX_ERR_AGT_115: "ModuleGraphError",
  LEX_ERR_AGT_116: "ToolCallLimitError",
  LEX_ERR_AGT_117: "ReaderTimeoutError",
  LEX_ERR_AGT_118: "ToolSourceError",
  LEX_ERR_AGT_119: "AgentClosedError",
  LEX_ERR_AGT_120: "ElicitationError",
  LEX_ERR_AGT_121: "RunError",
  LEX_ERR_AGT_122: "RunFailedError",
  LEX_ERR_AGT_123: "ToolUnknownOutcomeError",
  LEX_ERR_AGT_124: "ReplayError",
  LEX_ERR_AGT_125: "ScheduleError",
  LEX_ERR_AGT_126: "QueueFullError",
  LEX_ERR_AGT_127: "ToolCompensationError",
  LEX_ERR_AGT_128: "AgentEntityError",
  LEX_ERR_AGT_129: "StepTooLargeError",
  LEX_ERR_AGT_130: "PageToolError",
  LEX_ERR_LLM_001: "LlmError",
  LEX_ERR_LLM_100: "LlmAuthenticationError",
  LEX_ERR_LLM_101: "LlmRateLimitError",
  LEX_ERR_LLM_102: "LlmQuotaError",
  LEX_ERR_LLM_103: "LlmContextOverflowError",
  LEX_ERR_LLM_104: "LlmContentPolicyError",
  LEX_ERR_LLM_105: "LlmInvalidRequestError",
  LEX_ERR_LLM_106: "LlmTimeoutError",
  LEX_ERR_LLM_107: "LlmConnectionError",
  LEX_ERR_LLM_108: "LlmUnavailableError",
  LEX_ERR_LLM_109: "LlmMalformedResponseError",
  LEX_ERR_LLM_110: "LlmConfigurationError",
  LEX_ERR_LLM_111: "CacheBackendError",
  LEX_ERR_LLM_112: "LlmCallRefusedError",
  LEX_ERR_LLM_113: "LlmUnsupportedContentError",
  LEX_ERR_LLM_114: "LlmUnsupportedFeatureError",
  LEX_ERR_PROMPT_001: "PromptError",
  LEX_ERR_PROMPT_100: "PromptTemplateError",
  LEX_ERR_PROMPT_101: "PromptLibraryError",
  LEX_ERR_SKILL_001: "SkillError",
  LEX_ERR_SKILL_002: "SkillNotFoundError",
  LEX_ERR_SKILL_003: "SkillAlreadyRegisteredError",
  LEX_ERR_SKILL_004: "SkillValidationError",
  LEX_ERR_SKILL_005: "SkillPermissionDeniedError",
  LEX_ERR_SKILL_006: "SkillTimeoutError",
  LEX_ERR_SKILL_007: "SkillRoutingError",
  LEX_ERR_SKILL_008: "SkillExecutionError",
  LEX_ERR_SKILL_100: "SkillFileError",
  LEX_ERR_SKILL_101: "PermissionCheckerError",
  LEX_ERR_SKILL_102: "ScriptError",
  LEX_ERR_SKILL_103: "McpError",
  LEX_ERR_SKILL_104: "SkillTrustError",
  LEX_ERR_SKILL_105: "SkillConfirmationDeniedError",
  LEX_ERR_SKILL_106: "SkillsConfigurationError",
  LEX_ERR_SKILL_107: "SearchError",
  LEX_ERR_SKILL_108: "HttpRequestError",
  LEX_ERR_SKILL_109: "FileAccessError",
  LEX_ERR_SKILL_110: "CodeExecutionError",
  LEX_ERR_SKILL_111: "DatabaseQueryError",
  LEX_ERR_SKILL_112: "MathError",
  LEX_ERR_SKILL_113: "SkillSourceError",
  LEX_ERR_SKILL_115: "SkillAccessError",
  LEX_ERR_SKILL_116: "DateTimeError",
  LEX_ERR_SKILL_117: "WebBrowseError",
  LEX_ERR_MEM_001: "MemoryError",
  LEX_ERR_MEM_002: "ConsolidationError",
  LEX_ERR_MEM_003: "StorageError",
  LEX_ERR_MEM_005: "MemorySystemError",
  LEX_ERR_MEM_006: "MemoryStoreError",
  LEX_ERR_MEM_008: "MemoryCapacityError",
  LEX_ERR_MEM_009: "EmbeddingError",
  LEX_ERR_MEM_010: "FactExtractionError",
  LEX_ERR_MEM_100: "MemoryToolError",
  LEX_ERR_MEM_101: "ImportanceError",
  LEX_ERR_MEM_102: "FewShotError",
  LEX_ERR_SES_001: "SessionError",
  LEX_ERR_SES_002: "TaskCancelledError",
  LEX_ERR_SES_003: "TaskError",
  LEX_ERR_SES_004: "TaskTimeoutError",
  LEX_ERR_SES_005: "TaskValidationError",
  LEX_ERR_SES_007: "SessionNotFoundError",
  LEX_ERR_SES_008: "SessionClosedError",
  LEX_ERR_SES_009: "SessionExpiredError",
  LEX_ERR_SES_010: "CheckpointNotFoundError",
  LEX_ERR_SES_011: "SessionTransitionError",
  LEX_ERR_SES_012: "SessionCapacityError",
  LEX_ERR_SES_100: "SessionStorageError",
  LEX_ERR_SES_101: "SessionConflictError",
  LEX_ERR_SES_102: "SessionMergeError",
  LEX_ERR_SES_103: "SessionConfigurationError",
  LEX_ERR_SES_104: "GroupConfigurationError",
  LEX_ERR_SES_105: "ParticipantTimeoutError",
  LEX_ERR_SES_106: "SessionInputError",
  LEX_ERR_SES_110: "SessionUnboundError",
  LEX_ERR_SES_111: "SessionTokenError",
  LEX_ERR_GUARD_001: "GuardError",
  LEX_ERR_GUARD_002: "InputGuardError",
  LEX_ERR_GUARD_003: "OutputGuardError",
  LEX_ERR_GUARD_005: "GuardConfigurationError",
  LEX_ERR_GUARD_006: "GuardPipelineError",
  LEX_ERR_GUARD_100: "ToolObservationBlockedError",
  LEX_ERR_GUARD_101: "ToolObservationGuardError",
  LEX_ERR_GOV_001: "GovernanceError",
  LEX_ERR_GOV_003: "PolicyViolationError",
  LEX_ERR_GOV_006: "RateLimitExceededError",
  LEX_ERR_GOV_007: "ModelAccessDeniedError",
  LEX_ERR_GOV_008: "GovernancePersistenceError",
  LEX_ERR_GOV_010: "ResourceExhaustedError",
  LEX_ERR_GOV_100: "GovernanceConfigurationError",
  LEX_ERR_GRAPH_001: "GraphError",
  LEX_ERR_GRAPH_100: "GraphCompileError",
  LEX_ERR_GRAPH_101: "GraphStepLimitError",
  LEX_ERR_GRAPH_102: "GraphNodeTimeoutError",
  LEX_ERR_GRAPH_103: "GraphWaitingError",
  LEX_ERR_GRAPH_104: "GraphCheckpointError",
  LEX_ERR_GRAPH_105: "CheckpointerError",
  LEX_ERR_GRAPH_106: "GraphDefectError",
  LEX_ERR_GRAPH_107: "GraphBreakpointError",
  LEX_ERR_CONTENT_001: "ContentFailure",
  LEX_ERR_CONTENT_100: "ContentError",
  LEX_ERR_CONTENT_101: "BlobNotFoundError",
  LEX_ERR_CONTENT_102: "BlobStoreError",
  LEX_ERR_DOC_001: "DocumentFailure",
  LEX_ERR_DOC_100: "DocumentError",
  LEX_ERR_DOC_101: "CitationError",
  LEX_ERR_DB_001: "PersistenceError",
  LEX_ERR_DB_100: "DatabaseError",
  LEX_ERR_DB_101: "MigrationError",
  LEX_ERR_DB_102: "PersistenceConfigurationError",
  LEX_ERR_DB_103: "DataTransferError",
  LEX_ERR_DB_104: "WorkflowStorageError",
  LEX_ERR_HTTP_001: "HttpFailure",
  LEX_ERR_HTTP_100: "ApiError",
  LEX_ERR_HTTP_101: "ApiConfigurationError",
  LEX_ERR_HTTP_102: "WebhookError",
  LEX_ERR_HTTP_103: "McpServerError",
  LEX_ERR_A2A_001: "A2aFailure",
  LEX_ERR_A2A_100: "A2aError",
  LEX_ERR_EVAL_100: "DatasetError",
  LEX_ERR_EVAL_101: "ExperimentError",
  LEX_ERR_EVAL_102: "ExperimentStoreError",
  LEX_ERR_EVAL_103: "GateError",
  LEX_ERR_EVAL_104: "ScorerError",
  LEX_ERR_EVAL_105: "StatisticsError",
  LEX_ERR_EVAL_106: "LabelError",
  LEX_ERR_CLI_100: "CliError"
} as const

/**
 * Codes that the original numbering assigned twice. They are never used again.
 *
 * @since 0.1.0
 * @category constants
 */
export const reserved = ["LEX_ERR_GOV_002", "LEX_ERR_SES_006", "LEX_ERR_GUARD_004"] as const

/**
 * @since 0.1.0
 * @category models
 */
export type ErrorCode = keyof typeof table

/**
 * The `code` field of an error class: a literal that constructors may omit.
 *
 * @since 0.1.0
 * @category schemas
 */
export const field = <const Code extends ErrorCode>(code: Code) =>
  Schema.Literal(code).pipe(
    Schema.propertySignature,
    Schema.withConstructorDefault((): Code => code)
  )

const hint = Schema.optional(Schema.String)
const cause = Schema.optional(Schema.Defect)

/**
 * The fields that every error has besides its own data.
 *
 * `message` says what happened, `hint` how to fix it, `cause` holds the underlying error.
 *
 * @since 0.1.0
 * @category schemas
 */
export const fields = <const Code extends ErrorCode>(code: Code) => ({
  code: field(code),
  message: Schema.String,
  hint,
  cause
})

/**
 * The page about a code: its fields, its reasons and what to do. None while the documentation has no address.
 *
 * @since 0.1.0
 * @category accessors
 */
export const urlOf = (code: string, documentation: string | undefined = Version.documentation): string | undefined =>
  documentation === undefined ? undefined : `${documentation.replace(/\/$/, "")}/reference-errors#${code.toLowerCase()}`

type ErrorClass = new (...args: ReadonlyArray<any>) => Error & { readonly hint?: unknown; readonly code?: unknown }

/**
 * Puts the hint and the page of the code below the message in the stack, where `Cause.pretty` takes what it prints
 * below the message.
 */
const withHintInStack = (Base: ErrorClass) =>
  class extends Base {
    constructor(...args: ReadonlyArray<any>) {
      super(...args)
      const { code, hint, message, name, stack } = this
      const url = typeof code === "string" ? urlOf(code) : undefined
      if ((typeof hint !== "string" && url === undefined) || stack === undefined) return
      const frames = stack.indexOf("\n    at ")
      const lines = [`${name}: ${message}`]
      if (typeof hint === "string") lines.push(`    hint: ${hint}`)
      if (url !== undefined) lines.push(`    see: ${url}`)
      this.stack = lines.join("\n") + (frames === -1 ? "" : stack.slice(frames))
    }
  }

/** Statics of a schema, and those of a schema that is a class. */
const schemaStatics = ["ast", "annotations", "pipe", "toString"]
const classStatics = [
  ...schemaStatics,
  "_tag",
  "fields",
  "identifier",
  "make",
  "extend",
  "transformOrFail",
  "transformOrFailFrom"
]

/** Gives a class the statics of a schema that is built when the first of them is read. */
const withStatics = <A extends object>(self: A, names: ReadonlyArray<string>, build: () => object): A => {
  Object.defineProperty(self, Schema.TypeId, { value: Schema.String[Schema.TypeId] })
  for (const name of names) {
    Object.defineProperty(self, name, {
      configurable: true,
      get(this: object) {
        return Reflect.get(build(), name, this)
      }
    })
  }
  return self
}

/**
 * `Schema.TaggedError` for errors with a `hint`: printing the error with its stack, as `Cause.pretty` and Node do,
 * prints the hint below the message. `message` does not contain the hint.
 *
 * The schema is built with the first error or the first use of the schema: a process builds few of those it loads.
 *
 * @since 0.1.0
 * @category constructors
 */
export const TaggedError: typeof Schema.TaggedError = (identifier) => (tag, fields, annotations) => {
  let built: ErrorClass | undefined
  const build = (): ErrorClass => {
    if (built === undefined) {
      built = withHintInStack(Schema.TaggedError<any>(identifier)(tag, fields, annotations as any) as any)
      Object.setPrototypeOf(TaggedErrorClass.prototype, built.prototype)
    }
    return built
  }
  class TaggedErrorClass {
    constructor(...args: ReadonlyArray<any>) {
      // biome-ignore lint/correctness/noConstructorReturn: the instance is one of the class that extends this one
      return Reflect.construct(build(), args, new.target)
    }
  }
  Object.setPrototypeOf(TaggedErrorClass.prototype, Data.Error.prototype)
  // The type of the class survives: the subclass has the same fields, statics and constructor.
  return withStatics(TaggedErrorClass, classStatics, build) as any
}

/**
 * `Schema.Union` of the errors of a family, built with its first use.
 *
 * @since 0.1.0
 * @category constructors
 */
export const Union = <Members extends ReadonlyArray<Schema.Schema.Any>>(...members: Members): Schema.Union<Members> => {
  let built: object | undefined
  return withStatics(Object.assign(class {}, { members }), schemaStatics, () => {
    built ??= Schema.Union(...members)
    return built
  }) as any
}

/**
 * `Schema.is`, compiled with its first use.
 *
 * @since 0.1.0
 * @category guards
 */
export const is = <A, I>(schema: Schema.Schema<A, I>): ((u: unknown) => u is A) => {
  let compiled: ((u: unknown) => u is A) | undefined
  return (u): u is A => {
    compiled ??= Schema.is(schema)
    return compiled(u)
  }
}
