import * as Fs from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Vm from "node:vm"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Esbuild from "esbuild"
import { root } from "../scripts/layout.js"

/** The packages that the README names for an agent on chat completions, and the dependencies of this package. */
const packages = [
  "effect",
  "@effect/ai",
  "@effect/platform",
  "@effect/experimental",
  "@effect/rpc",
  ...Object.keys((JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as Manifest).dependencies)
]

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

/** A copy of the sources beside these packages alone: an import of another package does not resolve. */
const install = (): string => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-bundle-"))
  Fs.cpSync(Path.join(root, "src"), Path.join(folder, "src"), { recursive: true })
  for (const name of packages) {
    const link = Path.join(folder, "node_modules", name)
    Fs.mkdirSync(Path.dirname(link), { recursive: true })
    Fs.symlinkSync(Path.join(root, "node_modules", name), link)
  }
  return folder
}

const program = `
  import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
  import * as Effect from "effect/Effect"
  import * as Layer from "effect/Layer"
  import * as Schema from "effect/Schema"
  import * as AgentExecutor from "./src/agent/AgentExecutor.js"
  import * as Agents from "./src/agent/Agents.js"
  import * as Agent from "./src/agent/definition/Agent.js"
  import * as ChatCompletions from "./src/provider/format/ChatCompletions.js"
  import * as ReAct from "./src/strategy/loop/ReAct.js"
  import * as Tool from "./src/tool/definition/Tool.js"

  const add = Tool.make("add", {
    description: "Adds two numbers",
    parameters: { a: Schema.Number, b: Schema.Number },
    handler: ({ a, b }) => Effect.succeed(a + b)
  })
  const agent = Agent.make("adder", { system: "Add.", tools: [add], strategy: ReAct.make() })

  globalThis.ask = (baseUrl) =>
    AgentExecutor.run(agent, "What is 1 + 2?").pipe(
      Effect.map((response) => response.message),
      Effect.provide(
        Agents.layer().pipe(
          Layer.provide(ChatCompletions.layer({ baseUrl, model: "gpt-4o" })),
          Layer.provide(FetchHttpClient.layer)
        )
      ),
      Effect.runPromise
    )
`

const bundle = async (folder: string, platform: "browser" | "node"): Promise<string> => {
  const { outputFiles } = await Esbuild.build({
    stdin: { contents: program, resolveDir: folder, loader: "ts" },
    bundle: true,
    write: false,
    platform,
    format: "iife",
    target: "es2022",
    logLevel: "silent"
  })
  return outputFiles[0]?.text ?? ""
}

const completion = (message: object, finish: string) => ({
  id: "1",
  object: "chat.completion",
  created: 0,
  model: "gpt-4o",
  choices: [{ index: 0, finish_reason: finish, message: { role: "assistant", ...message } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
})

const toolCall = { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1,"b":2}' } }
const replies = [
  completion({ content: null, tool_calls: [toolCall] }, "tool_calls"),
  completion({ content: "The sum is 3." }, "stop")
]

describe("a bundle of an agent, its tool and chat completions", () => {
  let calls = 0
  const server = Http.createServer((request, response) => {
    request.resume().on("end", () => {
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify(replies[calls++]))
    })
  })
  let folder = ""
  beforeAll(async () => {
    folder = install()
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  })
  afterAll(async () => {
    Fs.rmSync(folder, { recursive: true, force: true })
    await new Promise<void>((resolve) => void server.close(() => resolve()))
  })

  const runIn = async (code: string, globals: Readonly<Record<string, unknown>>): Promise<unknown> => {
    calls = 0
    const context: Record<string, unknown> = { ...globals }
    Vm.runInNewContext(code, context)
    const ask = context["ask"] as (baseUrl: string) => Promise<unknown>
    return ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
  }

  const web = {
    AbortController,
    AbortSignal,
    Blob,
    FormData,
    Headers,
    ReadableStream,
    Request,
    Response,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    clearTimeout,
    console,
    crypto,
    fetch,
    performance,
    queueMicrotask,
    setTimeout
  }

  it("runs in a browser, without the globals of Node", async () => {
    const code = await bundle(folder, "browser")
    assert.strictEqual(await runIn(code, web), "The sum is 3.")
    assert.strictEqual(calls, 2)
  }, 60_000)

  it("runs on Node", async () => {
    const code = await bundle(folder, "node")
    const node = {
      ...web,
      Buffer,
      process,
      setImmediate,
      clearImmediate,
      setInterval,
      clearInterval,
      require: undefined
    }
    assert.strictEqual(await runIn(code, node), "The sum is 3.")
  }, 60_000)
})
