/**
 * `npm run build`: writes `dist` as it is published. Declarations are one file a module. The code of an entry is a few files: what the
 * root entry loads is one file a band of floors (`bands` in `scripts/layout.ts`), everything else is bundled by the entries that share it,
 * and what is loaded on demand stays apart. Packages and Node's own modules are left to the program that installs this one.
 */
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Esbuild from "esbuild"
import { type GetModuleInfo, type Plugin, rollup } from "rollup"
import { perLine } from "./build/LineMaps.js"
import { withPureCalls } from "./build/PureCalls.js"
import { buildStudio } from "./build/StudioPage.js"
import { bandOf, filesBelow, folderOf, isIndex, programs, root } from "./layout.js"

const src = Path.join(root, "src")
const dist = Path.join(root, "dist")

/** Chunks below this size are merged with another one where that adds nothing to what an entry executes. */
const MIN_CHUNK = 3_000

/** Compiles a module to JavaScript without comments, and marks the calls at its top level as free of side effects. */
const compiler: Plugin = {
  name: "compiler",
  resolveId: (specifier, importer) =>
    importer === undefined
      ? specifier
      : specifier.startsWith(".")
        ? Path.resolve(Path.dirname(importer), specifier.replace(/\.js$/, ".ts"))
        : { id: specifier, external: true },
  load: async (file) => {
    const { code, map } = await Esbuild.transform(withPureCalls(Fs.readFileSync(file, "utf8")), {
      loader: "ts",
      format: "esm",
      target: "es2022",
      sourcemap: "external",
      sourcefile: file,
      sourcesContent: false,
      tsconfigRaw: { compilerOptions: { useDefineForClassFields: true, verbatimModuleSyntax: true } }
    })
    return { code, map, moduleSideEffects: false }
  }
}

const closureOf = (file: string, infoOf: GetModuleInfo, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const id of infoOf(file)?.importedIds ?? []) if (Path.isAbsolute(id)) closureOf(id, infoOf, seen)
  return seen
}

/** Providers whose shared code is one file: small modules would be packed with whatever else is small. */
const exchanging = ["chat", "openai"]

/** Code of documents, and what they share with memory, is one file. */
const searching = ["document", "memory"]

/** A small module of both that agents load, too: it would bring them the whole file. */
const owners = "memory/entry/MemoryOwner.ts"

/** What agents load once a run is recorded is one file: with another small module they would load what that one uses. */
const recorded = new Set(
  ["agent/definition/RecordedSchemas.ts", "llm/model/RecordedCall.ts", "tool/RecordedTool.ts"].map((name) =>
    Path.join(src, name)
  )
)

/** Records of runs, and how runs are looked up, are one file: agents, durable runs and databases share them. */
const isOfRuns = (name: string): boolean => /^agent\/(?:record|runs)\//.test(name)

const makeBands = () => {
  let loaded: ReadonlySet<string> | undefined
  let search: ReadonlyArray<ReadonlySet<string>> | undefined
  let exchange: ReadonlyArray<ReadonlySet<string>> | undefined
  return (file: string, { getModuleInfo }: { readonly getModuleInfo: GetModuleInfo }): string | undefined => {
    if (recorded.has(file)) return "recorded"
    loaded ??= closureOf(Path.join(src, "index.ts"), getModuleInfo)
    exchange ??= exchanging.map((name) => closureOf(Path.join(src, "provider", name, "index.ts"), getModuleInfo))
    if (!loaded.has(file) && exchange.every((modules) => modules.has(file))) return "exchange"
    search ??= searching.map((name) => closureOf(Path.join(src, name, "index.ts"), getModuleInfo))
    const name = Path.relative(src, file).split(Path.sep).join("/")
    const folder = folderOf(name)
    if (name === owners) return "strategy"
    if (!loaded.has(file) && isOfRuns(name)) return "runs"
    const [documents, memory] = search
    const isFound = documents?.has(file) === true && memory?.has(file) === true
    if (!loaded.has(file) && !isIndex(name) && isFound) return "search"
    return loaded.has(file) && folder !== "" && !file.endsWith(`${Path.sep}index.ts`) ? bandOf(folder) : undefined
  }
}

const entries = filesBelow(src).filter(isIndex)

const bundle = async (): Promise<void> => {
  const build = await rollup({
    input: Object.fromEntries(entries.map((file) => [file.slice(0, -3), Path.join(src, file)])),
    plugins: [compiler],
    preserveEntrySignatures: "strict",
    treeshake: { moduleSideEffects: false },
    onwarn: (warning) => {
      throw new Error(warning.message)
    }
  })
  await build.write({
    dir: dist,
    format: "es",
    sourcemap: true,
    sourcemapExcludeSources: true,
    manualChunks: makeBands(),
    experimentalMinChunkSize: MIN_CHUNK,
    hoistTransitiveImports: false,
    generatedCode: { preset: "es2015" },
    chunkFileNames: "chunks/[name]-[hash].js"
  })
  await build.close()
}

const declare = (): void => {
  execFileSync(process.execPath, [Path.join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"], {
    cwd: root,
    stdio: "inherit"
  })
}

const isPrivate = /^\/\*\*(?:(?!\*\/)[\s\S])*?@private\b/
const header = /^\/\*\*[\s\S]*?\*\/\n/
const tagsAlone = /^[ \t]*\/\*\*\n(?:[ \t]*\* @(?:since|category) .*\n)+[ \t]*\*\/\n/gm
const tagsBelow = /[ \t]*\*[ \t]*\n(?:[ \t]*\* @(?:since|category) .*\n)+(?=[ \t]*\*\/\n)/g

/** Takes from the declarations of modules that no entry exports their headers and tags, which no page and no editor shows. */
const shortenDeclarations = (): void => {
  for (const file of filesBelow(dist).filter((file) => file.endsWith(".d.ts"))) {
    const path = Path.join(dist, file)
    const text = Fs.readFileSync(path, "utf8")
    if (!isPrivate.test(text)) continue
    Fs.writeFileSync(path, text.replace(header, "").replace(tagsAlone, "").replace(tagsBelow, ""))
  }
}

const shortenMaps = (): void => {
  for (const file of filesBelow(dist).filter((file) => file.endsWith(".js.map"))) {
    const path = Path.join(dist, file)
    const map = JSON.parse(Fs.readFileSync(path, "utf8")) as { readonly mappings: string }
    Fs.writeFileSync(path, JSON.stringify({ ...map, names: [], mappings: perLine(map.mappings) }))
  }
}

// With `--code`, the declarations of the last build are kept.
if (!process.argv.includes("--code")) {
  Fs.rmSync(dist, { recursive: true, force: true })
  declare()
  shortenDeclarations()
}
Fs.rmSync(Path.join(dist, "chunks"), { recursive: true, force: true })
await bundle()
shortenMaps()
for (const [file, target] of Object.entries(programs)) {
  Fs.copyFileSync(Path.join(src, file), Path.join(dist, target))
}
await buildStudio(Path.join(dist, "studio", "page"))
