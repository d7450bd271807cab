/** The rows of the comparison: what is measured, in which unit, and of whom. */

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
const withHttp = everyone.filter((subject) => subject !== "effect-ai")
const ours = ["effect-lexigram"]

/** `url` and `otlp` say that the loopback server is part of the row. */
export const rows = [
  { row: "a step, 1 tool", kind: "step", unit: "µs CPU", subjects: everyone, options: { steps: 10 } },
  { row: "a step, 20 tools", kind: "step", unit: "µs CPU", subjects: everyone, options: { steps: 10, tools: 20 } },
  { row: "a step, 50 tools", kind: "step", unit: "µs CPU", subjects: ours, options: { steps: 10, tools: 50 } },
  {
    row: "a step of a run of 400",
    kind: "step",
    unit: "µs CPU",
    subjects: everyone.filter((subject) => subject !== "mastra"),
    options: { steps: 400 }
  },
  {
    row: "a streamed delta",
    kind: "stream",
    unit: "µs CPU",
    subjects: everyone,
    options: { deltas: 4_000, perChunk: 8, steps: 1 }
  },
  {
    row: "a streamed delta over SSE",
    kind: "stream",
    unit: "µs CPU",
    subjects: withHttp,
    options: { deltas: 4_000, perChunk: 1, steps: 1 },
    url: true
  },
  {
    row: "a model call over HTTP",
    kind: "step",
    unit: "µs CPU",
    subjects: withHttp,
    options: { steps: 10 },
    url: true
  },
  {
    row: "1,000 concurrent runs of 3 steps",
    kind: "concurrent",
    unit: "ms CPU",
    scale: 1 / 1000,
    heap: "kB of heap a run",
    subjects: everyone,
    options: { steps: 3, sleep: 10, count: 1_000 }
  },
  { row: "process start to the end of a run", kind: "cold", unit: "ms", subjects: everyone, options: { steps: 1 } },
  ...["otlp", "guards", "memory", "sqlite"].map((variant) => ({
    row: `a step with ${variant}`,
    kind: "step",
    unit: "µs CPU",
    subjects: ours,
    options: { steps: 10, variant },
    otlp: variant === "otlp",
    file: variant === "sqlite"
  }))
]

/** Agents with one tool and a model over HTTP, bundled for the size of what they load. */
export const bundles = ["effect-lexigram", "ai-sdk-7", "langgraph"]
