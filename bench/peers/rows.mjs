/**
 * The rows of the comparison. `id` selects a row, `url` and `otlp` say that the loopback server is part of it, `rounds`
 * bounds its rounds, and each of `figures` is one figure of a process: its row, its unit and where the worker reports it.
 */

const everyone = [
  "effect-lexigram",
  "ai-sdk-7",
  "ai-sdk-6",
  "openai-agents",
  "langgraph",
  "mastra",
  "effect-ai",
  "bare"
]
const except = (...names) => everyone.filter((subject) => !names.includes(subject))
const ours = ["effect-lexigram"]

const cpu = (row, unit = "µs CPU", scale = 1) => [{ row, unit, of: "cpu", scale }]

const concurrent = (runs) => [
  ...cpu(`${runs} concurrent runs of 3 steps`, "ms CPU", 1 / 1000),
  { row: `${runs} concurrent runs of 3 steps, peak heap`, unit: "kB a run", of: "heap", scale: 1 }
]

const search = (entries, shown) => ({
  id: `search${shown}`,
  kind: "search",
  subjects: ours,
  options: { entries },
  rounds: 3,
  figures: cpu(`a memory search among ${entries.toLocaleString("en")}`, "ms CPU", 1 / 1000)
})

export const rows = [
  { id: "step1", kind: "step", subjects: everyone, options: { steps: 10 }, figures: cpu("a step, 1 tool") },
  {
    id: "step20",
    kind: "step",
    subjects: everyone,
    options: { steps: 10, tools: 20 },
    figures: cpu("a step, 20 tools")
  },
  {
    id: "step400",
    kind: "step",
    subjects: except("mastra"),
    options: { steps: 400 },
    rounds: 3,
    figures: cpu("a step of a run of 400")
  },
  {
    id: "delta",
    kind: "stream",
    subjects: everyone,
    options: { deltas: 4_000, perChunk: 8, steps: 1 },
    figures: cpu("a streamed delta")
  },
  {
    id: "sse",
    kind: "stream",
    subjects: except("effect-ai"),
    options: { deltas: 4_000, perChunk: 1, steps: 1 },
    url: true,
    figures: cpu("a streamed delta over SSE")
  },
  {
    id: "http",
    kind: "step",
    subjects: except("effect-ai"),
    // Here code is compiled late: most of the time is spent in the system.
    options: { steps: 10, warm: 5_000, warmMillis: 8_000 },
    url: true,
    figures: cpu("a model call over HTTP")
  },
  {
    id: "concurrent1k",
    kind: "concurrent",
    subjects: everyone,
    options: { steps: 3, sleep: 10, count: 1_000 },
    rounds: 3,
    figures: concurrent("1,000")
  },
  {
    id: "concurrent10k",
    kind: "concurrent",
    // The others take a minute and more.
    subjects: ["effect-lexigram", "ai-sdk-7", "ai-sdk-6", "bare"],
    options: { steps: 3, sleep: 10, count: 10_000 },
    rounds: 3,
    figures: concurrent("10,000")
  },
  {
    id: "cold",
    kind: "cold",
    subjects: everyone,
    options: { steps: 1 },
    figures: [
      { row: "start to the end of a run", unit: "ms", of: "wall", scale: 1 },
      { row: "start to the end of a run, CPU", unit: "ms CPU", of: "cpu", scale: 1 / 1000 },
      { row: "start to the end of a run, memory", unit: "MB", of: "rss", scale: 1 }
    ]
  },
  { id: "modules", kind: "cold", subjects: everyone, options: { steps: 1 }, rounds: 1, counts: "modules" },
  ...[
    ["otlp", "with traces sent over OTLP"],
    ["guards", "with three guards"],
    ["memory", "with a session, in memory"],
    ["sqlite", "with a session, on SQLite"]
  ].map(([variant, words]) => ({
    id: variant,
    kind: "step",
    subjects: ours,
    options: { steps: 10, variant },
    otlp: variant === "otlp",
    file: variant === "sqlite",
    figures: cpu(`a step ${words}`)
  })),
  {
    id: "statements",
    kind: "statements",
    subjects: ours,
    options: { steps: 10, variant: "sqlite" },
    file: true,
    figures: [
      { row: "statements of a step on SQLite", unit: "statements", of: "statements", scale: 1 },
      { row: "commits of a step on SQLite", unit: "commits", of: "commits", scale: 1 },
      { row: "statements of a run on SQLite, besides its steps", unit: "statements", of: "besides", scale: 1 },
      { row: "commits of a run on SQLite, besides its steps", unit: "commits", of: "besidesCommits", scale: 1 }
    ]
  },
  ...[
    ["memory", "in memory"],
    ["sqlite", "on SQLite"],
    ["postgres", "on Postgres"]
  ].map(([where, words]) => ({
    id: `durable-${where}`,
    kind: "durable",
    subjects: ["effect-lexigram", "langgraph"],
    options: { steps: 10, variant: `durable-${where}` },
    rounds: 3,
    file: where === "sqlite",
    postgres: where === "postgres",
    figures: [
      ...cpu(`a durable step ${words}`),
      { row: `a durable step ${words}, time`, unit: "µs", of: "time", scale: 1 }
    ]
  })),
  {
    id: "served",
    kind: "served",
    subjects: ["effect-lexigram", "mastra", "bare"],
    options: { atOnce: 32, deltas: 200 },
    figures: [
      { row: "a request of a server", unit: "µs CPU", of: "request", scale: 1 },
      { row: "requests of a server, more is better", unit: "a second", of: "rate", scale: 1 },
      { row: "a delta of a server's stream", unit: "µs CPU", of: "delta", scale: 1 },
      { row: "request to the first delta", unit: "ms", of: "first", scale: 1 },
      { row: "request to the first delta beside 31 others", unit: "ms", of: "crowded", scale: 1 }
    ]
  },
  search(10_000, "10k"),
  search(100_000, "100k")
]

/** The most rounds of subjects that take longest, so that the others have more. */
export const slow = { langgraph: 3, mastra: 3, "effect-ai": 3 }

/** Rows of files and types, which are the same in each round. */
export const still = ["bundle", "install", "types"]
