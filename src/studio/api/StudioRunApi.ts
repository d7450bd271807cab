/**
 * What developers see of their runs and of the agents of the server, and the runs that they start to try agents out.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as RequestedAnswer from "../../agent/record/RequestedAnswer.js"
import { RunPolicy } from "../../agent/record/RunPolicy.js"
import { Asked } from "../../agent/record/RunRecord.js"
import * as ApiModels from "../../http/api/ApiModels.js"
import { Conflict, Invalid, Unavailable, Unknown, Unsupported } from "../../http/api/ApiStatus.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioRunApi"

const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256))
const runId = ApiModels.pathParam("runId", Id)
const name = ApiModels.pathParam("name", Id)

/**
 * A graph to draw. The nodes of a graph inside a node have that node as their `parent`.
 *
 * @category schemas
 */
export const DrawnGraph = Schema.Struct({
  nodes: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      /** The graph and the node as events name them; absent for the begin and the end. */
      graph: Schema.optional(Schema.String),
      node: Schema.String,
      parent: Schema.optional(Schema.String)
    })
  ),
  edges: Schema.Array(
    Schema.Struct({
      from: Schema.String,
      to: Schema.String,
      label: Schema.optional(Schema.String),
      /** The state or the node decides whether it is taken; others are taken always. */
      branch: Schema.optional(Schema.Literal(true))
    })
  )
}).annotations({ identifier: `${NAME}/DrawnGraph` })
/**
 * @category models
 */
export interface DrawnGraph extends Schema.Schema.Type<typeof DrawnGraph> {}

/**
 * A strategy; one that is a loop of the model and its tools has no graph.
 *
 * @category schemas
 */
export const StrategyInfo = Schema.Struct({
  name: Schema.String,
  graph: Schema.optional(DrawnGraph),
  mermaid: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/StrategyInfo` })
/**
 * @category models
 */
export interface StrategyInfo extends Schema.Schema.Type<typeof StrategyInfo> {}

/**
 * The model of a role; without `role` that of calls without one.
 *
 * @category schemas
 */
export const ModelChoice = Schema.Struct({
  role: Schema.optional(Schema.String),
  provider: Schema.String,
  model: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/ModelChoice` })
/**
 * @category models
 */
export interface ModelChoice extends Schema.Schema.Type<typeof ModelChoice> {}

/**
 * An agent with all of its definition that is data.
 *
 * @category schemas
 */
export const AgentDetails = Schema.Struct({
  name: Schema.String,
  description: Schema.optional(Schema.String),
  system: Schema.String,
  strategy: StrategyInfo,
  tools: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      description: Schema.String,
      /** A JSON Schema. */
      parameters: Schema.Unknown,
      /** Parameters that nobody is shown. */
      secret: Schema.Array(Schema.String),
      readOnly: Schema.Boolean
    })
  ),
  /** The JSON Schema of the answer, if it has one. */
  output: Schema.optional(Schema.Unknown),
  settings: ModelSettings.ModelSettings,
  role: Schema.optional(Schema.String),
  /** Times are milliseconds. */
  limits: Schema.Record({ key: Schema.String, value: Schema.Number }),
  guards: Schema.Array(Schema.Struct({ name: Schema.String, stages: Schema.Array(Schema.String) })),
  /** What a run of the agent may have instead; absent where the executor does not tell. */
  choices: Schema.optional(
    Schema.Struct({ models: Schema.Array(ModelChoice), strategies: Schema.Array(Schema.String) })
  )
}).annotations({ identifier: `${NAME}/AgentDetails` })
/**
 * @category models
 */
export interface AgentDetails extends Schema.Schema.Type<typeof AgentDetails> {}

/**
 * What the model calls of a run have: what its request asked for, over what its agent has, over the defaults. The agent
 * is that of the server now. A strategy, or a step that is prepared, may ask with others.
 *
 * @category schemas
 */
export const RunSettings = Schema.Struct({
  agent: Schema.String,
  /** Of calls without a role. */
  settings: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The settings of calls with these roles, where they are others. */
  roles: Schema.Array(
    Schema.Struct({ role: Schema.String, settings: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
  ),
  /** The role of the calls of the agent. */
  role: Schema.optional(Schema.String),
  fallback: Schema.Array(Schema.String),
  /** Times are milliseconds. */
  limits: Schema.Record({ key: Schema.String, value: Schema.Number }),
  /** Which tools must be called, and by which calls. */
  toolChoice: Schema.optional(
    Schema.Struct({ choice: RequestedAnswer.ToolChoice, on: Schema.Literal("first", "every") })
  ),
  /** The system prompt of the agent, without what strategies and memory add to it. */
  system: Schema.optional(Schema.String),
  /** The turns of a session that a run sees, at most. */
  sessionTurns: Schema.optional(Schema.Number),
  /** What the request of the run asked for; absent if nothing is known of it, or it asked for nothing. */
  asked: Schema.optional(Asked)
}).annotations({ identifier: `${NAME}/RunSettings` })
/**
 * @category models
 */
export interface RunSettings extends Schema.Schema.Type<typeof RunSettings> {}

/**
 * The request of a run that tries an agent out: with other settings, limits, model or strategy than it has. Limits that
 * the server sets for the runs of its callers hold all the same.
 *
 * @category schemas
 */
export const TryRun = Schema.Struct({
  agent: Id,
  input: ApiModels.Input,
  sessionId: Schema.optional(Id),
  labels: ApiModels.StartRun.fields.labels,
  startWith: ApiModels.StartRun.fields.startWith,
  output: ApiModels.StartRun.fields.output,
  toolChoice: ApiModels.StartRun.fields.toolChoice,
  settings: Schema.optional(ModelSettings.ModelSettings),
  policy: Schema.optional(RunPolicy)
}).annotations({ identifier: `${NAME}/TryRun` })
/**
 * @category models
 */
export interface TryRun extends Schema.Schema.Type<typeof TryRun> {}

/**
 * What a fork has instead of what its run was started with; what is absent stays.
 *
 * @category schemas
 */
export const ForkRun = Schema.Struct({
  /** The step of the run before which the fork begins, from 0. */
  step: Schema.NonNegativeInt,
  input: Schema.optional(ApiModels.Input),
  labels: ApiModels.StartRun.fields.labels,
  settings: Schema.optional(ModelSettings.ModelSettings),
  policy: Schema.optional(RunPolicy)
}).annotations({ identifier: `${NAME}/ForkRun` })
/**
 * @category models
 */
export interface ForkRun extends Schema.Schema.Type<typeof ForkRun> {}

const textOf = (contentType: string) => Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType }))

/**
 * @category constants
 */
export const group = HttpApiGroup.make("studioRuns")
  .add(
    HttpApiEndpoint.get("studioAgent")`/agents/${name}`
      .addSuccess(AgentDetails)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "An agent with its prompt, its tools, its strategy, and what its runs may choose")
  )
  .add(
    HttpApiEndpoint.get("studioStrategy")`/strategies/${name}`
      .addSuccess(StrategyInfo)
      .addError(Unknown)
      .addError(Unsupported)
      .annotate(OpenApi.Summary, "A strategy that runs may name, with its default options")
  )
  .add(
    HttpApiEndpoint.post("tryRun", "/runs")
      .setPayload(TryRun)
      .addSuccess(ApiModels.Run, { status: 202 })
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Starts a run with settings, a model or a strategy of the caller's choice")
  )
  .add(
    HttpApiEndpoint.get("studioRun")`/runs/${runId}`
      .addSuccess(ApiModels.RunWithAnswer)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "One run of the caller, with whole errors")
  )
  .add(
    HttpApiEndpoint.post("studioFork")`/runs/${runId}/fork`
      .setPayload(ForkRun)
      .addSuccess(ApiModels.Run, { status: 202 })
      .addError(Invalid)
      .addError(Unknown)
      .addError(Unsupported)
      .annotate(OpenApi.Summary, "Starts a run that goes on from a step of another one, with other settings")
  )
  .add(
    HttpApiEndpoint.get("studioSettings")`/runs/${runId}/settings`
      .addSuccess(RunSettings)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "The settings of a run, or of a run inside of one, and the system prompt of its agent")
  )
  .add(
    HttpApiEndpoint.get("studioEvents")`/runs/${runId}/events`
      .setUrlParams(Schema.Struct({ from: Schema.optional(ApiModels.numberBetween(0, Number.MAX_SAFE_INTEGER)) }))
      .addSuccess(textOf("text/event-stream"))
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "All events of a run, or of a run inside of one, with all of their fields")
      .annotate(
        OpenApi.Description,
        "`Last-Event-ID` or `from` says where to go on. 204 after the last event: a browser does not connect again."
      )
  )
  .add(
    HttpApiEndpoint.get("studioTrace")`/runs/${runId}/trace`
      .addSuccess(textOf("text/html"))
      .addError(Unknown)
      .addError(Unsupported)
      .annotate(OpenApi.Summary, "The trace of a run and of the runs inside of it, as a page without scripts")
  )
  .add(
    HttpApiEndpoint.get("studioCase")`/runs/${runId}/case`
      .setUrlParams(Schema.Struct({ expected: Schema.optional(Schema.Literal("answer", "none")) }))
      .addSuccess(textOf("application/x-ndjson"))
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unsupported)
      .annotate(OpenApi.Summary, "A run that ended, as a case of an experiment: one line of JSON")
  )
  .addError(Unavailable)
  .middleware(Developer)
