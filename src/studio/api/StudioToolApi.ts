/**
 * The tools and skills of the server, and trials of tools.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { ErrorInfo } from "../../domain/ErrorInfo.js"
import { pathParam } from "../../http/api/ApiModels.js"
import { Conflict, Invalid, Unknown, Unsupported } from "../../http/api/ApiStatus.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioToolApi"

const JsonSchema = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/**
 * A tool as it is defined. Agents that share a tool are named together; tools of one name that differ are entries each.
 *
 * @category schemas
 */
export const ToolInfo = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  /** The JSON Schema of the parameters. */
  parameters: JsonSchema,
  /** The agents that have it; a tool of the registry is for all of them. */
  agents: Schema.Array(Schema.String),
  source: Schema.Literal("agent", "source", "registry"),
  /** The name of the tool source that has it now. */
  from: Schema.optional(Schema.String),
  /** The module that it belongs to. */
  owner: Schema.optional(Schema.String),
  /** `depends`: on the arguments. */
  approval: Schema.Literal("never", "always", "depends"),
  /** The names of secret arguments. */
  secret: Schema.Array(Schema.String),
  readOnly: Schema.Boolean,
  idempotent: Schema.Boolean,
  /** Milliseconds of an attempt; absent: those of the agent. */
  timeoutMs: Schema.optional(Schema.Number),
  retries: Schema.optional(Schema.Number),
  /** The page or the program of the caller executes it: it cannot be tried here. */
  isClient: Schema.Boolean,
  /** Why it cannot be used. */
  problem: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/ToolInfo` })
/**
 * @category models
 */
export interface ToolInfo extends Schema.Schema.Type<typeof ToolInfo> {}

/**
 * A skill of the registry (`code`), or of a folder with a `SKILL.md`.
 *
 * @category schemas
 */
export const SkillInfo = Schema.Union(
  Schema.Struct({
    kind: Schema.Literal("code"),
    name: Schema.String,
    description: Schema.String,
    parameters: JsonSchema,
    returns: JsonSchema,
    category: Schema.String,
    permissions: Schema.Array(Schema.String),
    requiresConfirmation: Schema.Boolean,
    cacheable: Schema.Boolean,
    idempotent: Schema.Boolean,
    timeoutSeconds: Schema.optional(Schema.Number),
    maxRetries: Schema.optional(Schema.Number)
  }),
  Schema.Struct({
    kind: Schema.Literal("folder"),
    name: Schema.String,
    description: Schema.String,
    license: Schema.optional(Schema.String),
    compatibility: Schema.optional(Schema.String),
    /** As the file names them, such as `Bash(git:*)`; absent if it names none. */
    allowedTools: Schema.optional(Schema.Array(Schema.String)),
    directory: Schema.String,
    hash: Schema.String,
    /** At most 200. */
    files: Schema.Array(Schema.String),
    warnings: Schema.Array(Schema.String),
    /** The beginning of the instructions, at most 4,000 characters. */
    instructions: Schema.String
  })
).annotations({ identifier: `${NAME}/SkillInfo` })
/**
 * @category models
 */
export type SkillInfo = typeof SkillInfo.Type

/**
 * The end of a trial: what a model would read of it.
 *
 * @category schemas
 */
export const Trial = Schema.Struct({
  tool: Schema.String,
  agent: Schema.String,
  /** The run of the call, in the log of runs. */
  runId: Schema.String,
  succeeded: Schema.Boolean,
  /** Null if the tool did not run. */
  result: Schema.Unknown,
  observation: Schema.String,
  truncated: Schema.Boolean,
  attempts: Schema.Number,
  durationMs: Schema.Number,
  error: Schema.optional(ErrorInfo)
}).annotations({ identifier: `${NAME}/Trial` })
/**
 * @category models
 */
export interface Trial extends Schema.Schema.Type<typeof Trial> {}

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256))

/** A call to try. */
const TrialCall = Schema.Struct({
  params: Schema.Unknown,
  /** The agent in whose place it is called; default the first one that has it. */
  agent: Schema.optional(Name),
  /** Allows a call that needs approval. */
  confirm: Schema.optional(Schema.Boolean)
}).annotations({ identifier: `${NAME}/TrialCall` })

const ABOUT =
  "The call passes governance, guards, limits and retries of the agent, and has the effects that it has. It takes no model call of its own, and nothing of it is remembered. After a minute it is interrupted."

/**
 * @category constants
 */
export const group = HttpApiGroup.make("tools")
  .add(
    HttpApiEndpoint.get("listTools", "/tools")
      .addSuccess(
        Schema.Struct({
          tools: Schema.Array(ToolInfo),
          /** The tool sources that did not answer. */
          failed: Schema.Array(
            Schema.Struct({ source: Schema.String, agents: Schema.Array(Schema.String), error: ErrorInfo })
          )
        })
      )
      .annotate(
        OpenApi.Summary,
        "The tools of the agents, those that their sources have now, and those of the registry"
      )
  )
  .add(
    HttpApiEndpoint.get("listSkillDefinitions", "/skills")
      .addSuccess(Schema.Struct({ skills: Schema.Array(SkillInfo) }))
      .annotate(OpenApi.Summary, "The skills of the registry and of folders")
  )
  .add(
    HttpApiEndpoint.post("tryTool")`/tools/${pathParam("name", Name)}/try`
      .setPayload(TrialCall)
      .addSuccess(Trial)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Calls a tool as a run of the caller would")
      .annotate(OpenApi.Description, ABOUT)
  )
  .add(
    HttpApiEndpoint.post("trySkill")`/skills/${pathParam("name", Name)}/try`
      .setPayload(TrialCall)
      .addSuccess(Trial)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unsupported)
      .annotate(OpenApi.Summary, "Executes a skill of the registry as a run of the caller would")
      .annotate(OpenApi.Description, ABOUT)
  )
  .middleware(Developer)
