/** What an agent of each subject costs before it runs: bytes of a bundle, packages of an install, work of the compiler. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { gzipSync } from "node:zlib"
import { fold, say } from "./measure.mjs"
import { here } from "./places.mjs"
import { programs } from "./types.mjs"

/** The gzipped bytes of an agent's entry and of the chunks that it imports statically. */
const bundleOf = async (subject) => {
  const { build } = await import("esbuild")
  const { metafile, outputFiles } = await build({
    entryPoints: [Path.join(here, "bundles", `${subject}.mjs`)],
    outdir: Path.join(here, "out"),
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    platform: "node",
    write: false,
    // The packed library, not its sources.
    tsconfigRaw: {},
    metafile: true,
    logLevel: "silent",
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" }
  })
  const names = Object.keys(metafile.outputs)
  const isEntry = (name) => metafile.outputs[name].entryPoint?.endsWith(`bundles/${subject}.mjs`) === true
  const reached = new Set(names.filter(isEntry))
  for (const name of reached) {
    for (const { kind, path } of metafile.outputs[name].imports) {
      if (kind === "import-statement" && metafile.outputs[path] !== undefined) reached.add(path)
    }
  }
  const files = outputFiles.filter(({ path }) => [...reached].some((name) => path.endsWith(Path.basename(name))))
  return gzipSync(Buffer.concat(files.map(({ contents }) => contents))).length / 1000
}

const bundle = async () => {
  const rows = []
  for (const file of Fs.readdirSync(Path.join(here, "bundles")).sort()) {
    const subject = Path.basename(file, ".mjs")
    try {
      rows.push(fold("a bundle with one tool, gzip", subject, "kB", [await bundleOf(subject)]))
    } catch (error) {
      say(`bundle / ${subject}: ${String(error).slice(0, 300)}`)
    }
  }
  return rows
}

/** What a program with one tool and a model over HTTP installs of each subject. */
const packages = {
  "effect-lexigram": ["effect-lexigram"],
  "ai-sdk-7": ["ai", "@ai-sdk/openai-compatible", "zod"],
  "ai-sdk-6": ["ai-6", "@ai-sdk/openai-compatible-2", "zod"],
  "openai-agents": ["@openai/agents", "zod"],
  langgraph: ["langchain", "@langchain/core", "@langchain/openai", "zod"],
  mastra: ["@mastra/core", "@ai-sdk/openai-compatible-2", "zod"],
  "effect-ai": ["effect", "@effect/ai"]
}

const manifestOf = (folder) => JSON.parse(Fs.readFileSync(Path.join(folder, "package.json"), "utf8"))

/** The folder of a package as Node resolves it from another one, within this installation. */
const find = (name, from) => {
  for (let folder = from; folder.startsWith(here); folder = Path.dirname(folder)) {
    const found = Path.join(folder, "node_modules", name)
    if (Fs.existsSync(Path.join(found, "package.json"))) return found
  }
  return undefined
}

const bytesBelow = (folder) => {
  let bytes = 0
  for (const entry of Fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "node_modules") continue
    const path = Path.join(folder, entry.name)
    if (entry.isDirectory()) bytes += bytesBelow(path)
    else if (entry.isFile()) bytes += Fs.statSync(path).size
  }
  return bytes
}

/** The packages that these need: dependencies, and peers that are not optional. */
const closureOf = (names) => {
  const seen = new Set(names.map((name) => find(name, here)))
  for (const folder of seen) {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = manifestOf(folder)
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => peerDependenciesMeta[name]?.optional !== true)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const found = find(name, folder)
      if (found !== undefined) seen.add(found)
    }
  }
  return [...seen]
}

const install = () =>
  Object.entries(packages).flatMap(([subject, names]) => {
    const folders = closureOf(names)
    const bytes = folders.reduce((sum, folder) => sum + bytesBelow(folder), 0)
    return [
      fold("an install", subject, "MB", [bytes / 1_000_000]),
      fold("an install, packages", subject, "packages", [folders.length])
    ]
  })

/** The instantiations that the compiler makes for ten tools and their agent, above those of the imports. */
const types = async () => {
  const { default: ts } = await import("typescript")
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: ["node"]
  }
  const count = (text) => {
    const file = Path.join(here, "program.mts")
    const host = ts.createCompilerHost(options)
    const { fileExists, getSourceFile } = host
    host.fileExists = (name) => name === file || fileExists.call(host, name)
    host.getSourceFile = (name, ...rest) =>
      name === file ? ts.createSourceFile(name, text, rest[0]) : getSourceFile.call(host, name, ...rest)
    const program = ts.createProgram([file], options, host)
    const [first] = ts.getPreEmitDiagnostics(program, program.getSourceFile(file))
    if (first !== undefined) throw new Error(ts.flattenDiagnosticMessageText(first.messageText, " "))
    return program.getInstantiationCount()
  }
  return Object.entries(programs).flatMap(([subject, { imports, agent }]) => {
    try {
      return [fold("the types of ten tools", subject, "instantiations", [count(imports + agent) - count(imports)])]
    } catch (error) {
      say(`types / ${subject}: ${String(error).slice(0, 300)}`)
      return []
    }
  })
}

export const measureStill = { bundle, install, types }
