/** What each entry of the package is for, and the pages that explain it. */

export interface About {
  readonly text: string
  /** Pages below `docs`, without `.md`. */
  readonly guides: ReadonlyArray<string>
}

const about = (text: string, ...guides: ReadonlyArray<string>): About => ({ text, guides })

/** By the specifier without the name of the package; the root entry is empty. */
export const abouts: Readonly<Record<string, About>> = {
  "": about("The modules that most programs compose, each also in its own entry.", "quickstart", "concepts"),
  a2a: about("Agents for other agents by the Agent2Agent protocol, and those of others as tools.", "a2a"),
  agent: about("Agents, their executor, runs by their ids, crews, schedules and queues.", "agents", "runs"),
  application: about("A whole application on one backend, with durable runs.", "persistence"),
  builtin: about("The built-in skills: files, the web, SQL, code, texts and dates.", "skills"),
  cli: about("The program `lexigram` and the modules that configure it.", "command-line"),
  cluster: about("Durable runs on many machines, and sessions as entities.", "cluster"),
  content: about("Parts of messages, and the store of their bytes.", "content"),
  document: about("An index of texts, its search, and citations in answers.", "documents"),
  domain: about("Ids, usage, events, answers and error codes that everything shares.", "concepts", "errors"),
  durable: about("Agents whose runs survive their process.", "durable", "workflows"),
  eval: about("Datasets, experiments, scorers, statistics and gates.", "evals"),
  governance: about("Budgets, quotas, rates, policies and the audit log.", "governance"),
  graph: about("Typed state graphs and their checkpoints.", "graphs"),
  guard: about("Checks of texts: injection, personal data, credentials, contents.", "guards"),
  http: about("Agents over HTTP: the API, webhooks, AI SDK UI, AG-UI and OpenAI's API.", "http", "ai-sdk-ui", "ag-ui"),
  "http/client": about("The client of the HTTP API alone, for pages and other services.", "http"),
  llm: about("The ports of models and embedders, and their wrappers: retry, cache, router, limits, prices.", "models"),
  mcp: about("Servers and clients of the Model Context Protocol.", "mcp"),
  "mcp/client": about("The client of MCP servers on the official SDK.", "mcp"),
  "mcp/oauth": about("OAuth of MCP clients, and the store of its tokens.", "mcp"),
  memory: about("Recall across sessions: entries, facts, notes, blocks, consolidation.", "memory"),
  observability: about("Runs, steps, hooks, the event bus, the run log, metrics and health.", "observability"),
  offline: about("The embedded model of demos and examples.", "quickstart"),
  persistence: about("The whole system on SQLite, Postgres and Redis, and the data of one owner.", "persistence"),
  plan: about("Reads plans and ReAct steps out of the text of models.", "strategies"),
  promise: about("Agents and tools as plain promises and async iterables.", "promise"),
  prompt: about("Prompts of strategies and subsystems: templates, overrides, versions.", "prompts"),
  provider: about("Providers of models and embeddings, by name or one a module.", "models", "providers"),
  "provider/ai-sdk": about("Models and embeddings of the AI SDK alone.", "models"),
  "provider/anthropic": about("Anthropic's models alone.", "models", "providers"),
  "provider/chat": about("Servers of the chat-completions dialect alone.", "models", "providers"),
  "provider/openai": about("OpenAI's Responses API alone.", "models", "providers"),
  rpc: about("Agents over Effect RPC.", "http"),
  session: about("Conversations with turns, checkpoints, branches and merges.", "sessions"),
  skill: about("Registered capabilities: definition, execution, composition, folders.", "skills"),
  strategy: about("The strategies of reasoning, one a module, and their registry.", "strategies"),
  studio: about("A page for developers on a server of agents.", "studio"),
  telemetry: about("Spans, metrics and logs for OTLP and Prometheus.", "observability"),
  testing: about("Scripted models, trajectories, faults, cassettes and the suites of ports.", "testing"),
  tool: about("Functions that models call: definition, execution, approvals, search.", "tools", "approvals"),
  trace: about("What a run did, as text, diagram or page.", "traces"),
  webhook: about("Tells addresses of the end of runs and of the states of tasks, across processes.", "http", "a2a")
}
