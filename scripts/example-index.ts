/** The page of the examples: by subject, each with the comment that it begins with. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { root } from "./layout.js"

const subjects: Readonly<Record<string, ReadonlyArray<string>>> = {
  "First steps": ["quickstart", "real-model", "streaming", "typed-errors", "structured-output", "promises", "demo"],
  "Tools, skills and people": ["custom-tool", "skills", "skill-folders", "approvals", "steering"],
  "Several agents and strategies": ["handoff", "crew", "own-strategy"],
  "What is remembered": ["memory", "documents", "sessions", "persistence"],
  "Runs that outlive a call": ["run-log", "queue", "schedules", "cluster", "session-entities"],
  "Servers, pages and terminals": ["http-server", "http-frameworks", "session-cookies", "web-chat", "command-line"],
  "Safety and money": ["guards", "governance"],
  Quality: [
    "testing-an-agent",
    "evals",
    "prompt-optimiser",
    "traces",
    "hooks-and-events",
    "telemetry-otlp",
    "telemetry-prometheus"
  ],
  "Whole applications": ["app-composition"]
}

/** Examples in folders of their own. */
const folders: Readonly<Record<string, string>> = {
  "support-desk":
    "A whole application: several agents, skills, memory, guards, budgets, approvals across a restart, a page, evals.",
  strategies: "A program for each built-in strategy, on a scripted model."
}

const headOf = (file: string): string => {
  const text = Fs.readFileSync(Path.join(root, "examples", file), "utf8")
  const lines = (/^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "").split("\n").map((line) => line.replace(/^\s*\* ?/, ""))
  return lines.join("\n").trim().split("\n\n")[0]?.replaceAll("\n", " ") ?? ""
}

export const exampleProblems = (): ReadonlyArray<string> => {
  const listed = Object.values(subjects).flat()
  const files = Fs.readdirSync(Path.join(root, "examples")).filter((file) => file.endsWith(".ts"))
  return [
    ...files
      .map((file) => file.slice(0, -3))
      .filter((name) => !listed.includes(name))
      .map((name) => `examples/${name}.ts: give it a subject in scripts/example-index.ts`),
    ...files
      .filter((file) => headOf(file) === "")
      .map((file) => `examples/${file}: an example begins with a comment that says what it shows`),
    ...listed
      .filter((name) => !files.includes(`${name}.ts`))
      .map((name) => `scripts/example-index.ts: there is no examples/${name}.ts`)
  ]
}

export const examplePage = (): string =>
  [
    "# Examples",
    "<!-- Made by `npm run codegen` from the comments of the examples. -->",
    "`node --import tsx examples/<name>.ts` runs one, in a clone after `npm ci`. All run offline, on scripted models or the embedded one, and CI runs them all.",
    ...Object.entries(subjects).flatMap(([subject, names]) => [
      `## ${subject}`,
      names.map((name) => `- [${name}](${name}.ts): ${headOf(`${name}.ts`)}`).join("\n")
    ]),
    "## Folders",
    Object.entries(folders)
      .map(([name, what]) => `- [${name}](${name}): ${what}`)
      .join("\n")
  ]
    .join("\n\n")
    .concat("\n")
