/**
 * The folders of `src`, from the bottom up. A folder imports only folders of a lower floor, types included.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

export const root = Path.resolve(Path.dirname(fileURLToPath(import.meta.url)), "..")

/** Each floor: its folders with a description. */
export const floors: ReadonlyArray<Readonly<Record<string, string>>> = [
  {
    "internal/text": "reads and cleans text: JSON of models, secrets, names, patterns",
    internal: "small data structures and option readers that several folders share"
  },
  {
    "internal/fiber": "waits, deadlines, queues, locks and worker threads for fibers",
    "memory/text": "analyzes text and indexes its words",
    "plan/react": "reads the ReAct text protocol",
    telemetry: "sends spans, metrics and logs to OTLP and Prometheus"
  },
  { domain: "ids, usage, events, answers and error codes that everything shares" },
  {
    content: "parts of messages, and the store of their bytes",
    "eval/statistics": "statistics of scores: means, intervals, comparisons, agreement",
    "observability/journal": "the seam between durable layers and the events and failures of runs",
    "observability/log": "events of running runs, and texts of logs for readers of deltas"
  },
  {
    observability: "runs, steps, hooks, the event bus and the run log",
    "persistence/engine": "access to SQL: dialects, transactions, payloads, keys, failures",
    "prompt/template": "prompt templates and the steps that they belong to"
  },
  {
    "governance/store": "ports of the cost ledger, the rate limits and the audit log",
    graph: "typed state graphs and their checkpoints",
    "llm/model": "the model port: client, errors, settings, token counts, metering",
    "persistence/postgres": "the Postgres client",
    "persistence/schema": "tables and migrations",
    "persistence/sqlite": "the SQLite client and its drivers",
    "prompt/defaults": "the prompts that strategies and subsystems use by default",
    trace: "what runs did, as a model, as text, as diagrams and as pages"
  },
  {
    "document/text": "cuts texts into chunks at headings, blocks and sentences; citations in answers",
    "governance/policy": "access policies and the models that they allow",
    "guard/pipeline": "the guard port, its checks and its reports",
    llm: "wrappers of the model port: cache, retry, timeout, fallback, router, limits, prices",
    offline: "the embedded model of demos and examples",
    "persistence/blob": "blobs on SQL, in files and on S3",
    "persistence/governance": "ledger, rates and audit log on SQL",
    prompt: "the prompt library",
    "provider/exchange": "one exchange with a provider: request, failure, server-sent events",
    "tool/definition": "tools, tool sets, their parameters and their errors"
  },
  {
    "eval/dataset": "cases of evals, from values, JSON lines and CSV",
    "eval/trajectory": "checks of what runs did",
    "eval/record": "records of experiments, and the port of their store",
    "document/format": "reads the text of Markdown, HTML and PDF",
    governance: "budgets, quotas, rates and rules around runs and calls",
    "guard/injection": "detects prompt injection",
    "guard/entity": "recognizers of personal data and credentials",
    "llm/embedding": "the embedder port and its wrappers",
    plan: "reads plans out of the text of models",
    "provider/format": "wire formats of providers",
    "provider/sdk": "models of the AI SDK",
    "skill/definition": "the skill port: definitions, files, permissions, errors",
    "tool/approval": "approvals of tool calls by people, and questions to them"
  },
  {
    "agent/record": "records of runs, schedules and queued runs, and the ports that keep them",
    "builtin/file": "skills that read and write files below one folder",
    "builtin/text": "skills for mathematics, dates, summaries and translations",
    "builtin/web": "skills that use the web, and the addresses that they may reach",
    "guard/pii": "detects and redacts personal data and credentials",
    "memory/entry": "the memory port: entries, owners, scores, selections, errors",
    provider: "providers by name",
    "skill/compose": "skills made of skills: chains, conditions, routers",
    "skill/execute": "executes skills: permissions, limits, caches, reports",
    tool: "runs tool calls; the registry of tools"
  },
  {
    "builtin/sql": "the skill that queries a database",
    "durable/payload": "large values of durable runs, as blobs",
    guard: "the other guards, one a module, and presets",
    "memory/facts": "fact stores: assertions, timelines, lineage",
    "memory/search": "entries in memory, vectors and ranking",
    "persistence/run": "run log, checkpoints, approvals and caches on SQL",
    "provider/embedding": "embedding models of providers",
    "session/turn": "the session port: sessions, turns, stores, errors",
    "skill/folder": "skills in folders: discovery, trust, listing, activation",
    "skill/mcp": "the MCP client port, and skills made of MCP tools",
    "strategy/definition": "the strategy port: strategies, reasoning, evaluators, model calls, the registry, errors",
    "tool/client": "tools that the caller of a run executes"
  },
  {
    document: "the document index: ingestion, search, and the tool by which a model cites documents",
    "durable/engine": "the engine of durable workflows on SQL, and its journal",
    "builtin/process": "skills that run code, and the processes that they start",
    "mcp/auth": "OAuth of MCP clients, and the port of their tokens",
    "memory/cache": "a memory store on a cache",
    "memory/episodic": "episodes and their summaries",
    "memory/example": "examples of prompts, chosen by their likeness to an input",
    "memory/procedural": "procedures that worked before",
    "memory/rerank": "orders results by a model",
    "memory/statement": "reads facts from plain sentences: verbs, tenses, times, corrections",
    "memory/tools": "tools by which a model keeps the memory of its user",
    "persistence/memory": "memory entries and facts on SQL",
    "persistence/session": "sessions on SQL",
    "persistence/vector": "vector indexes on SQL",
    "session/keyvalue": "sessions on a key-value store",
    skill: "the skill subsystem as one layer",
    "strategy/reasoning": "what strategies share: model calls, questions, the tool loop, call budgets"
  },
  {
    mcp: "MCP clients over stdio and HTTP",
    "persistence/document": "the document index on SQL",
    "memory/semantic": "semantic memory: reads facts from entries and recalls them",
    "strategy/combine": "strategies made of strategies: fallback, budgets, self-consistency, hooks, inputs",
    "strategy/loop": "loops of model and tools: function calling and ReAct"
  },
  {
    "strategy/compiler": "plans of calls that run in parallel while they are written",
    "strategy/discovery": "reasoning structures that the model composes for a task",
    "strategy/lats": "language agent tree search",
    "strategy/planning": "plans of strategies: planners, their replies, the state of a plan",
    "strategy/reflexion": "trials, verdicts and lessons from failure",
    "strategy/storm": "articles from many perspectives",
    "strategy/supervisor": "delegation to agents, and review of their reports"
  },
  {
    builtin: "all built-in skills",
    "memory/consolidation": "consolidates and prunes memory",
    "memory/conversation": "conversation windows, buffers and summaries",
    "persistence/redis": "stores on Redis",
    strategy: "the strategies, one a module, and their registry"
  },
  { "memory/working": "assembles what a model call is given of memory" },
  {
    memory: "the memory subsystem as one layer",
    "session/manager": "the lifecycle of sessions: turns, exchanges, checkpoints, state"
  },
  {
    "session/branch": "branches, merges and differences",
    "session/upkeep": "clean-up and analytics"
  },
  { session: "the session subsystem as one layer" },
  {
    "http/session": "sessions of HTTP requests",
    "session/group": "conversations of several agents",
    "session/history": "the history that a model is shown"
  },
  { "agent/definition": "agents, their configuration, and what a stage is" },
  { "agent/conversation": "sessions, memory, handoffs and compensations of runs, loaded by the runs that have them" },
  { "agent/stage": "the stages around a run, one a module" },
  { agent: "the executor, agents as tools, handoffs" },
  {
    "agent/crew": "crews: tasks, managers, results",
    "agent/runs": "runs by their ids: start, follow, steer, answer, list, and what is asked inside of them",
    promise: "agents and tools as plain promises and async iterables",
    persistence: "the whole system on one backend, and the data of one owner"
  },
  {
    "agent/dispatch": "starts runs for callers: by schedules, and out of a queue",
    durable: "agents whose runs survive their process",
    "eval/scorer": "scorers of outputs: texts, numbers, runs, models as judges",
    "http/request": "the requests that a server answers, and their end",
    "http/webhook": "the port of webhooks at the end of runs, and their signatures",
    testing: "scripted models and event recorders",
    "testing/suite": "what every port suite is made of: cases and assertions"
  },
  {
    application: "a whole application on one backend, with durable runs",
    eval: "tasks and experiments",
    "cluster/entity": "sessions as entities of a cluster",
    "http/api": "the HTTP API of agents: its definition, server, client and callers",
    "testing/cassette": "recorded exchanges with providers",
    "testing/trajectory": "what runs must have done",
    "testing/facts": "the suite of fact stores",
    "testing/memory": "the suite of memory stores",
    "testing/runs": "the suites of runs and of their records",
    "testing/session": "the suite of session stores"
  },
  {
    "http/chat": "the runs of a conversation that a page keeps",
    "eval/report": "what experiments say: summaries, comparisons, gates and pages",
    "eval/online": "runs as cases of experiments, and scores of runs"
  },
  {
    cluster: "durable runs on many machines",
    "http/agui": "agents over the AG-UI protocol: events, streams and endpoints",
    "http/openai": "agents as models of OpenAI's API",
    "http/ui": "chats of AI SDK UI: messages, streams and endpoints",
    "mcp/offer": "what MCP servers offer: prompts, resources, skills, memory; and the clients that they serve",
    a2a: "agents to other agents by the Agent2Agent protocol, and those of others as tools",
    rpc: "agents over Effect RPC",
    "testing/vector": "the suite of vector indexes"
  },
  {
    "mcp/server": "MCP servers over stdio and HTTP: agents and tools for the clients of the protocol",
    webhook: "tells addresses of the end of runs and of the states of tasks, across processes"
  },
  { "studio/access": "who may use the studio: links for one use, sessions of a browser, developers" },
  { "studio/api": "the privileged API of the studio: its definition, a group a module" },
  { "studio/endpoint": "the handlers of the privileged API" },
  { studio: "the studio: its page and its API, on a server of agents" },
  {
    "cli/config": "what the command line is about: the configuration module, the environment, the flags"
  },
  {
    "cli/terminal": "what the command line writes, and to whom: people, programs, terminals"
  },
  {
    "cli/init": "new projects: their files, by templates",
    "cli/connection": "the agents that commands talk to, in this process or on a server",
    "cli/prompt": "questions to the person at the terminal"
  },
  {
    "cli/follow": "follows runs for the person at the terminal"
  },
  {
    "cli/command": "the commands, one a module"
  },
  {
    "cli/data": "the commands about data: sessions, memory, skills, prompts, strategies, the database"
  },
  {
    cli: "the command line"
  }
]

/** The floor of a folder, from 0. */
export const floorOf: ReadonlyMap<string, number> = new Map(
  floors.flatMap((floor, i) => Object.keys(floor).map((folder): [string, number] => [folder, i]))
)

/** The bands of floors that the built package keeps in one file each, as far as the root entry loads them: the first floor of each. */
const bands: Readonly<Record<string, number>> = { ground: 0, model: 4, strategy: 7, agent: 13 }

/** The band of a folder. */
export const bandOf = (folder: string): string | undefined => {
  const floor = floorOf.get(folder)
  return floor === undefined
    ? undefined
    : Object.keys(bands).findLast((name) => (bands[name] ?? Number.POSITIVE_INFINITY) <= floor)
}

/**
 * Entries below those of the folders, with the modules that they export. A bundler looks for every package that a file imports, so what
 * imports an optional package, and what does not, have entries of their own.
 */
export const smallEntries: Readonly<Record<string, ReadonlyArray<string>>> = {
  "http/client": ["AgentApi", "AgentClient", "ApiError", "ApiModels"],
  "mcp/client": ["McpClientSdk"],
  "mcp/oauth": ["McpOAuth", "McpTokens"],
  "provider/ai-sdk": ["AiSdkEmbedder", "AiSdkModel"],
  "provider/anthropic": ["Anthropic"],
  "provider/chat": ["ChatCompletions", "ChatCompletionsDialect", "FetchTransport"],
  "provider/openai": ["OpenAi"]
}

/** Entries that export the members of their modules instead of the modules: for programs that import functions by name. */
export const flatEntries: ReadonlySet<string> = new Set(["promise"])

/** Whether a file below `src` is the index of an entry. */
export const isIndex = (file: string): boolean =>
  /^([a-z0-9]+\/)?index\.ts$/.test(file) || Object.hasOwn(smallEntries, file.replace(/\/index\.ts$/, ""))

/** Programs of child processes below `src`, by their place in `dist`. They are no modules and import Node alone. */
export const programs: Readonly<Record<string, string>> = {
  "builtin/sql/SqliteProcess.mjs": "builtin/SqliteProcess.mjs",
  "cli/lexigram.mjs": "cli/lexigram.mjs"
}

/**
 * Modules that the root entry exports, by the entry that also has them. Every user composes them, and they load no
 * implementation of a collaborator. Other modules are exported only by their own entry.
 */
export const rootModules: Readonly<Record<string, ReadonlyArray<string>>> = {
  agent: ["Agent", "AgentConfig", "AgentError", "AgentExecutor", "AgentTool", "Agents", "Handoff", "Stage", "Steering"],
  domain: [
    "AgentEvent",
    "AgentResponse",
    "ErrorCode",
    "IdGenerator",
    "Ids",
    "PublicView",
    "ReaderTimeout",
    "Requester",
    "SystemAccess",
    "Usage",
    "Version"
  ],
  governance: ["GovernanceError"],
  guard: ["GuardError"],
  llm: [
    "CacheBackend",
    "CostEstimator",
    "LlmCache",
    "LlmClient",
    "LlmGateway",
    "LlmError",
    "LlmLimits",
    "LlmRedaction",
    "LlmResilience",
    "LlmRetry",
    "LlmTimeout",
    "DefaultModelRouter",
    "ModelFallback",
    "ModelPrices",
    "ModelRouter",
    "ModelSettings",
    "TokenCounter"
  ],
  memory: ["MemoryError"],
  observability: ["AgentHooks", "EventBus", "Hooks", "Run", "RunLog", "Step", "Telemetry"],
  session: ["SessionError"],
  skill: ["SkillError"],
  strategy: ["BuiltInStrategies", "StopCondition", "Strategy", "StrategyError", "StrategyRegistry"],
  tool: [
    "ApprovalError",
    "ApprovalGate",
    "ApprovalPolicy",
    "Tool",
    "ToolError",
    "ToolRegistry",
    "ToolRunner",
    "ToolSet"
  ]
}

/** Entry of a folder: its first part. */
export const entryOf = (folder: string): string => folder.replace(/\/.*$/, "")

/** Folder of a file below `src`; empty for `src` itself. */
export const folderOf = (file: string): string => (file.includes("/") ? file.slice(0, file.lastIndexOf("/")) : "")

/** Files below a folder, relative to it, with `/`, sorted; none if the folder does not exist. */
export const filesBelow = (folder: string): ReadonlyArray<string> =>
  Fs.existsSync(folder)
    ? Fs.readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => Path.relative(folder, Path.join(entry.parentPath, entry.name)).split(Path.sep).join("/"))
        .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    : []
