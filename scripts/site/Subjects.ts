/** The pages of the site by subject, in the order of its sidebar. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { root } from "../layout.js"

export interface Entry {
  /** Name of the page below `docs`, without `.md`. */
  readonly page: string
  readonly title: string
  /** One line, for `llms.txt`. */
  readonly about: string
}

export interface Subject {
  readonly title: string
  readonly entries: ReadonlyArray<Entry>
}

const entry = (page: string, title: string, about: string): Entry => ({ page, title, about })

export const docs = Path.join(root, "docs")

const titleOf = (page: string): string =>
  /^# (.*)$/m.exec(Fs.readFileSync(Path.join(docs, `${page}.md`), "utf8"))?.[1] ?? page

/** The decisions are listed by their files. */
const decisions = (): ReadonlyArray<Entry> =>
  Fs.readdirSync(Path.join(docs, "adr"))
    .filter((file) => /^\d.*\.md$/.test(file))
    .sort()
    .map((file) => `adr/${file.slice(0, -3)}`)
    .map((page) => entry(page, titleOf(page), "A decision with its reasons."))

const written: ReadonlyArray<Subject> = [
  {
    title: "Begin",
    entries: [
      entry("quickstart", "Quickstart", "Install, a first agent, its events, failures and test."),
      entry("concepts", "Concepts", "Run, event, layer, owner, turn and step: the terms of all pages."),
      entry("recipes", "Recipes", "Twenty-one tasks, each as a few lines of code."),
      entry("promise", "Without Effect", "Agents as promises and async iterables."),
      entry("limits", "Limits", "What the package does not do, and what its figures do not say."),
      entry("effect-versions", "Versions of Effect", "Which versions of Effect the package works with.")
    ]
  },
  {
    title: "Agents",
    entries: [
      entry("agents", "Agents", "Definition, execution, limits, settings of each step, answers with a schema."),
      entry(
        "tools",
        "Tools",
        "Functions that models call: parameters, failures, sources, compensations, tools of callers."
      ),
      entry("approvals", "Approvals and questions", "People who decide calls and answer questions while a run waits."),
      entry("models", "Models and providers", "Providers, connections, resilience, routing, prompt caches."),
      entry("providers", "What providers are sent", "Reasoning levels, cached content, tools that the provider runs."),
      entry(
        "content",
        "Content and blobs",
        "Files in messages, tool results and sessions, and the store of their bytes."
      ),
      entry("prompts", "Prompts", "Prompts of strategies: overrides, files and versions."),
      entry("errors", "What can go wrong", "The families of errors with their tags and fields.")
    ]
  },
  {
    title: "Reasoning",
    entries: [
      entry("strategies", "Strategies", "Which strategy to take: what each does, what it calls and costs."),
      entry(
        "strategies-compared",
        "Strategies compared",
        "All strategies on planted tasks, with measured calls and tokens."
      ),
      entry("graphs", "Graphs", "Typed state graphs with branches, interrupts and time travel."),
      entry("several-agents", "Several agents", "Agents as tools, handoffs and crews.")
    ]
  },
  {
    title: "Skills and protocols",
    entries: [
      entry("skills", "Skills", "Registered capabilities: composition, built-in skills, SKILL.md folders."),
      entry("mcp", "MCP", "Servers and clients of the Model Context Protocol."),
      entry("a2a", "A2A", "Agents for other agents by the Agent2Agent protocol.")
    ]
  },
  {
    title: "What is remembered",
    entries: [
      entry("memory", "Memory", "Recall across sessions: entries, facts, notes, blocks, namespaces, consolidation."),
      entry("documents", "Documents", "An index of texts with citations."),
      entry("sessions", "Sessions", "Conversations with turns, checkpoints, branches and merges."),
      entry("persistence", "Persistence", "The whole system on SQLite, Postgres and Redis.")
    ]
  },
  {
    title: "Long and scheduled runs",
    entries: [
      entry("runs", "Runs by their ids", "Start, follow, steer, answer and list runs."),
      entry("durable", "Durable runs", "Runs that go on after the end of their process."),
      entry("cluster", "Clusters", "Durable runs on many machines, and sessions as entities."),
      entry("workflows", "Durable workflows", "Workflows of Effect on SQL."),
      entry("schedules", "Schedules", "Runs at times, by cron expressions or distances."),
      entry("queue", "Queues", "Runs that wait for their turn by owner, agent and priority.")
    ]
  },
  {
    title: "Servers and pages",
    entries: [
      entry("http", "HTTP", "The API of agents, its client, callers, webhooks and OpenAI's API."),
      entry("ai-sdk-ui", "AI SDK UI", "Chats of useChat."),
      entry("ag-ui", "AG-UI", "The AG-UI protocol for front ends."),
      entry("studio", "The Studio", "A page for developers: runs, playground, sessions, memory, evals."),
      entry("command-line", "The command line", "The program lexigram.")
    ]
  },
  {
    title: "Safety and money",
    entries: [
      entry("security-model", "Security model", "Threats, boundaries, and what is not promised."),
      entry("guards", "Guards", "Checks of texts, what they find, and how that was measured."),
      entry("governance", "Governance", "Budgets, rates, quotas, policies and audit.")
    ]
  },
  {
    title: "Quality",
    entries: [
      entry("testing", "Testing", "Scripted models, trajectories, faults and cassettes."),
      entry("evals", "Evals", "Datasets, experiments, scorers, statistics and gates."),
      entry("observability", "Observability", "Metrics, spans, health, the run log, hooks and events."),
      entry("traces", "Traces", "What a run did, as text, diagram or page."),
      entry("performance", "Performance", "Measured costs, beside other libraries."),
      entry("operations", "Operations", "Backups, migrations, scaling, Kubernetes and upgrades.")
    ]
  },
  {
    title: "Coming from",
    entries: [
      entry("migrate-langgraph", "LangGraph", "The same agent in LangGraph and here."),
      entry("migrate-ai-sdk", "AI SDK", "The same agent with the AI SDK and here."),
      entry("migrate-mastra", "Mastra", "The same agent in Mastra and here."),
      entry("migrate-openai-agents", "OpenAI Agents", "The same agent with the OpenAI Agents SDK and here.")
    ]
  },
  {
    title: "Reference",
    entries: [
      entry("api/index", "API", "Every public module and member, by entry."),
      entry("reference-config", "Configuration", "Every setting with its variable and default."),
      entry("reference-errors", "Error codes", "Every code with its error."),
      entry("reference-events", "Events", "Every event of a run with its fields.")
    ]
  },
  { title: "Decisions", entries: [entry("adr/README", "All decisions", "An index of the decisions."), ...decisions()] }
]

const exists = ({ page }: Entry): boolean => Fs.existsSync(Path.join(docs, `${page}.md`))

export const subjects: ReadonlyArray<Subject> = written
  .map(({ entries, title }) => ({ title, entries: entries.filter(exists) }))
  .filter(({ entries }) => entries.length > 0)
