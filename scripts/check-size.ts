/**
 * Checks what does not depend on the machine: the files that entries and a first run load, the bytes of bundles, the packages of an
 * install, and the bytes of the package. `dist` must be built.
 */
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Zlib from "node:zlib"
import * as Esbuild from "esbuild"
import { loadedBy } from "./build/LoadedModules.js"
import { root } from "./layout.js"

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, { readonly default?: string } | string | null>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
}

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly os?: ReadonlyArray<string>
  readonly cpu?: ReadonlyArray<string>
  readonly libc?: ReadonlyArray<string>
}

const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as Manifest

const expect = (what: string, found: number, most: number, unit = ""): void => {
  if (!(found <= most)) process.exitCode = 1
  console.log(`${found <= most ? "ok  " : "FAIL"} ${what}: ${found}${unit}, at most ${most}${unit}`)
}

/** What a file of the build begins with; a text further down may have imports in it. */
const imports = /^(?:(?:import|export)\b[^;]*;\n)*/
const staticImport = /^(?:import|export)\b[^;]*?from ['"](\.[^'"]+)['"]/gm

/** The files of the package that a file loads at once, itself included. */
const filesOf = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  const head = imports.exec(Fs.readFileSync(file, "utf8"))?.[0] ?? ""
  for (const [, specifier = ""] of head.matchAll(staticImport)) {
    filesOf(Path.join(Path.dirname(file), specifier), seen)
  }
  return seen
}

/** The strategies and their prompts are files of their own, since an agent loads those it names. */
const mostFiles: Readonly<Record<string, number>> = {
  ".": 6,
  "./agent": 16,
  "./application": 43,
  "./cli": 21,
  "./durable": 20,
  "./eval": 22,
  "./http": 28,
  "./mcp": 19,
  "./memory": 20,
  "./persistence": 47,
  "./prompt": 20,
  "./provider": 21,
  "./session": 24,
  "./skill": 23,
  "./strategy": 53,
  "./studio": 56
}
for (const [entry, target] of Object.entries(manifest.exports)) {
  const file = typeof target === "object" ? target?.default : undefined
  if (file !== undefined) expect(`files of ${entry}`, filesOf(Path.join(root, file)).size, mostFiles[entry] ?? 18)
}

/** The modules of `src` that these load at once, themselves included. */
const modulesOf = async (entries: ReadonlyArray<string>): Promise<number> => {
  const { metafile } = await Esbuild.build({
    entryPoints: entries.map((entry) => Path.join(root, "src", entry)),
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: root,
    logLevel: "error"
  })
  const reached = new Set<string>()
  const reach = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    for (const { external, kind, path } of metafile.inputs[name]?.imports ?? [])
      if (kind === "import-statement" && external !== true) reach(path)
  }
  for (const entry of entries) reach(`src/${entry}`)
  return reached.size
}
const composed = ["agent/AgentExecutor.ts", "agent/Agents.ts", "agent/definition/Agent.ts"]
expect("modules of Agent, AgentExecutor and Agents", await modulesOf(composed), 162)
expect("modules of the root entry", await modulesOf(["index.ts"]), 192)

const loaded = loadedBy(Path.join(root, "bench/cold/agent.mjs"))
const isOwn = (url: string): boolean => url.includes("/dist/") && !url.includes("/node_modules/")
expect("files of ours in a first run", loaded.filter(isOwn).length, 21)
expect("files of ajv in a first run", loaded.filter((url) => url.includes("/node_modules/ajv/")).length, 0)

/** The entry and the chunks that it imports at once, each compressed. */
const bundledBytes = async (contents: string): Promise<number> => {
  const { metafile, outputFiles } = await Esbuild.build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    write: false,
    minify: true,
    splitting: true,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "es2022",
    outdir: root,
    tsconfigRaw: "{}",
    logLevel: "error"
  })
  const reached = new Set<string>()
  const reach = (name: string): void => {
    const output = metafile.outputs[name]
    if (output === undefined || reached.has(name)) return
    reached.add(name)
    for (const { kind, path } of output.imports) if (kind === "import-statement") reach(path)
  }
  for (const [name, { entryPoint }] of Object.entries(metafile.outputs)) if (entryPoint === "<stdin>") reach(name)
  return outputFiles
    .filter(({ path }) => reached.has(Path.relative(root, path)))
    .reduce((sum, { contents }) => sum + Zlib.gzipSync(contents).length, 0)
}

const agentOn = (imports: string, model: string): string => `
  import * as Effect from "effect/Effect"
  import * as Layer from "effect/Layer"
  import * as Schema from "effect/Schema"
  import { Agent, AgentExecutor, Agents, LlmGateway, Tool } from "${manifest.name}"
  ${imports}
  const add = Tool.make("add", {
    description: "Adds two numbers",
    parameters: { a: Schema.Number, b: Schema.Number },
    handler: ({ a, b }) => Effect.succeed(a + b)
  })
  const run = AgentExecutor.run(Agent.make("adder", { tools: [add] }), "What is 1 + 2?")
  Effect.runPromise(Effect.provide(run, Layer.provide(Agents.layer(), ${model}))).then(console.log)
`
const inProcess = agentOn("", "LlmGateway.layer(globalThis.model)")
const overHttp = agentOn(
  `import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
  import { ChatCompletions } from "${manifest.name}/provider/chat"`,
  `Layer.provide(ChatCompletions.layer({ baseUrl: "http://127.0.0.1/v1", model: "m" }), FetchHttpClient.layer)`
)
expect("bundle of an agent", await bundledBytes(inProcess), 151_000, " bytes")
expect("bundle of an agent on chat completions", await bundledBytes(overHttp), 183_700, " bytes")

const locked = (
  JSON.parse(Fs.readFileSync(Path.join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
).packages

/** Where npm finds a package from the place of another one. */
const placeOf = (name: string, from: string): string | undefined => {
  const place = `${from === "" ? "" : `${from}/`}node_modules/${name}`
  if (locked[place] !== undefined) return place
  return from === "" ? undefined : placeOf(name, from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))))
}

const suits = (wanted: ReadonlyArray<string> | undefined, own: string): boolean =>
  wanted === undefined || wanted.includes(own)

/** What npm installs: packages for one platform (Linux on x64) count once. */
const installed = (names: ReadonlyArray<string>, from = "", seen = new Set<string>()): ReadonlySet<string> => {
  for (const name of names) {
    const place = placeOf(name, from)
    const found = place === undefined ? undefined : locked[place]
    if (place === undefined || found === undefined || seen.has(place)) continue
    if (!suits(found.os, "linux") || !suits(found.cpu, "x64") || !suits(found.libc, "glibc")) continue
    seen.add(place)
    const peers = Object.keys(found.peerDependencies ?? {}).filter(
      (peer) => found.peerDependenciesMeta?.[peer]?.optional !== true
    )
    installed([...Object.keys({ ...found.dependencies, ...found.optionalDependencies }), ...peers], place, seen)
  }
  return seen
}
const required = Object.keys(manifest.peerDependencies).filter(
  (name) => manifest.peerDependenciesMeta[name]?.optional !== true
)
expect("packages of an install", installed([...required, ...Object.keys(manifest.dependencies)]).size + 1, 29)

const [packed] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  })
) as ReadonlyArray<{ readonly size: number }>
expect("packed", packed?.size ?? Number.NaN, 3_100_000, " bytes")
