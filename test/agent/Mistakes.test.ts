/** What TypeScript says of the commonest mistakes: one error each, at the mistake, that names what is wrong. */
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import ts from "typescript"

const root = fileURLToPath(new URL("../..", import.meta.url))
const file = Path.join(root, "test/agent/Mistakes.program.ts")

const head = `
import { Agent, AgentExecutor, Agents, type LlmClient, Tool } from "../../src/index.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
class Database extends Context.Tag("Database")<Database, { readonly find: (id: string) => Effect.Effect<string> }>() {}
const clock = Tool.make("clock", { description: "d", handler: () => Effect.succeed("now") })
const find = Tool.make("find", {
  description: "d",
  parameters: { id: Schema.String },
  handler: ({ id }) => Effect.flatMap(Database, (database) => database.find(id))
})
const agent = Agent.make("a", { tools: [clock] })
const finder = Agent.make("b", { tools: [find] })
const shaped = Agent.make("c", { output: Schema.Struct({ city: Schema.String }) })
declare const model: Layer.Layer<LlmClient.LlmClient>
const live = Layer.provide(Agents.layer(), model)
`

interface Mistake {
  readonly code: string
  /** The text that the error points at. */
  readonly at: string
  readonly says: ReadonlyArray<string>
}

const mistakes: { readonly [name: string]: Mistake } = {
  "a handler whose result the tool does not promise": {
    code: `Tool.make("t", { description: "d", success: Schema.Number, handler: () => Effect.succeed("one") })`,
    at: `Effect.succeed("one")`,
    says: ["Type 'string' is not assignable to type 'number'"]
  },
  "a parameter that the schema does not have": {
    code: `Tool.make("t", { description: "d", parameters: { city: Schema.String }, handler: ({ town }) => Effect.succeed(town) })`,
    at: "town",
    says: ["Property 'town' does not exist on type '{ readonly city: string; }'"]
  },
  "parameters that are no schemas": {
    code: `Tool.make("t", { description: "d", parameters: { city: "string" }, handler: () => Effect.succeed("") })`,
    at: "city",
    says: ["Type 'string' is not assignable to type 'Field'"]
  },
  "a handler that returns a promise": {
    code: `Tool.make("t", { description: "d", handler: async () => "now" })`,
    at: `"now"`,
    says: ["Promise<string>", "Effect<"]
  },
  "a misspelled option": {
    code: `Agent.make("a", { tool: [clock] })`,
    at: "tool",
    says: ["'tool' does not exist", "Did you mean to write 'tools'?"]
  },
  "an agent without a name": {
    code: "Agent.make({ tools: [clock] })",
    at: "{ tools: [clock] }",
    says: ["is not assignable to parameter of type 'string'"]
  },
  "a function in place of a tool": {
    code: `Agent.make("a", { tools: [() => "now"] })`,
    at: `() => "now"`,
    says: ["Type '() => string' is not assignable to type"]
  },
  "a run without an executor": {
    code: `Effect.runPromise(AgentExecutor.run(agent, "hi"))`,
    at: `AgentExecutor.run(agent, "hi")`,
    says: ["Type 'AgentExecutor' is not assignable to type 'never'"]
  },
  "an executor without a model": {
    code: `Effect.runPromise(Effect.provide(AgentExecutor.run(agent, "hi"), Agents.layer()))`,
    at: `Effect.provide(AgentExecutor.run(agent, "hi"), Agents.layer())`,
    says: ["Type 'LlmClient' is not assignable to type 'never'"]
  },
  "a service that a tool needs": {
    code: `Effect.runPromise(Effect.provide(AgentExecutor.run(finder, "hi"), live))`,
    at: `Effect.provide(AgentExecutor.run(finder, "hi"), live)`,
    says: ["Type 'Database' is not assignable to type 'never'"]
  },
  "a field that the output does not have": {
    code: `Effect.map(AgentExecutor.run(shaped, "hi"), ({ output }) => output.town)`,
    at: "town",
    says: ["Property 'town' does not exist on type '{ readonly city: string; }'"]
  },
  "a request that is none": {
    code: `AgentExecutor.run(agent, { message: "hi" })`,
    at: "message",
    says: ["'message' does not exist in type 'AgentRequest'"]
  },
  "an error that a run does not fail with": {
    code: `Effect.catchTag(AgentExecutor.run(agent, "hi"), "LlmRateLimitedError", () => Effect.void)`,
    at: "catchTag",
    says: [`'"LlmRateLimitedError"' is not assignable`]
  }
}

const names = Object.keys(mistakes)
const source = `${head}${names.map((name, index) => `export const m${index} = ${mistakes[name]?.code}\n`).join("")}`

/** The errors of the program, by its lines. */
const errorsOf = (): ReadonlyArray<{ readonly line: string; readonly at: string; readonly text: string }> => {
  const config = ts.getParsedCommandLineOfConfigFile(
    Path.join(root, "tsconfig.json"),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => {}
    }
  )
  const options = { ...config?.options, noEmit: true, incremental: false, composite: false }
  const host = ts.createCompilerHost(options, true)
  const program = ts.createProgram([file], options, {
    ...host,
    fileExists: (name) => name === file || host.fileExists(name),
    readFile: (name) => (name === file ? source : host.readFile(name)),
    getSourceFile: (name, version, ...rest) =>
      name === file ? ts.createSourceFile(name, source, version, true) : host.getSourceFile(name, version, ...rest)
  })
  const checked = program.getSourceFile(file)
  return ts.getPreEmitDiagnostics(program, checked).map(({ length = 0, messageText, start = 0 }) => ({
    line: source.slice(source.lastIndexOf("\n", start) + 1, source.indexOf("\n", start)),
    at: source.slice(start, start + length),
    text: ts.flattenDiagnosticMessageText(messageText, "\n")
  }))
}

describe("the errors of types", () => {
  it("point at the commonest mistakes and name them, one for each", { timeout: 300_000 }, () => {
    const errors = errorsOf()
    names.forEach((name, index) => {
      const { at, says } = mistakes[name] as Mistake
      const [error, ...more] = errors.filter(({ line }) => line.startsWith(`export const m${index} `))
      assert.strictEqual(error?.at, at, name)
      assert.isEmpty(more, name)
      for (const text of says) assert.include(error?.text, text, name)
      assert.isAtMost(error?.text.length ?? 0, 1_200, `${name}: ${error?.text}`)
    })
    assert.lengthOf(errors, names.length)
  })
})
