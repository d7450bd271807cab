/**
 * Compiles a program that imports the entries of the built package with `skipLibCheck: false`, outside of this
 * repository, with exactly the packages that the README names for those entries, and the programs of the pages that
 * beginners read; as Node resolves modules and as bundlers do. Requires `dist`.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import ts from "typescript"
import { root } from "./layout.js"

interface PackageJson {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
}

const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as PackageJson

/** Packages of every installation. */
const base = Object.keys(manifest.peerDependencies).filter(
  (name) => manifest.peerDependenciesMeta[name]?.optional !== true
)

/** Packages that an entry additionally needs to compile. Any of them brings Node's types. */
const packagesOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  "./application": ["@types/node", "@effect/sql-pg", "@types/pg", "ioredis"],
  "./builtin": ["@types/node", "decimal.js"],
  "./cluster": ["@types/node", "@effect/cluster"],
  "./durable": ["@types/node"],
  "./http": ["@types/node", "jose"],
  "./mcp": ["@types/node", "@modelcontextprotocol/sdk", "jose"],
  "./mcp/client": ["@types/node", "@modelcontextprotocol/sdk"],
  "./mcp/oauth": ["@types/node", "@modelcontextprotocol/sdk"],
  "./persistence": ["@types/node", "@effect/sql-pg", "@types/pg", "ioredis"],
  "./provider": ["@effect/ai-openai", "@effect/ai-anthropic"],
  "./provider/anthropic": ["@effect/ai-anthropic"],
  "./provider/openai": ["@effect/ai-openai"],
  "./telemetry": ["@effect/opentelemetry"],
  "./webhook": ["@types/node"]
}

const link = (folder: string, name: string): void => {
  const target = Path.join(folder, "node_modules", name)
  Fs.mkdirSync(Path.dirname(target), { recursive: true })
  Fs.symlinkSync(Path.join(root, "node_modules", name), target)
}

/** Pages whose programs are compiled, and packages that only these import. */
const pages = ["README.md", ...["quickstart", "recipes"].map((page) => `docs/${page}.md`)].concat(
  Fs.readdirSync(Path.join(root, "docs"))
    .filter((file) => /^migrate-.*\.md$/.test(file))
    .map((file) => `docs/${file}`)
)
const packagesOfPages = ["@ai-sdk/google", "@effect/vitest", "@effect/opentelemetry", "vitest", "zod"]

const blocksOf = (page: string): ReadonlyArray<string> =>
  Array.from(
    Fs.readFileSync(Path.join(root, page), "utf8").matchAll(/^```ts(?: run)?\n([\s\S]*?)^```$/gm),
    ([, text = ""]) => text
  )

type Resolutions = Readonly<Record<string, ts.CompilerOptions>>

const nodeNext: Resolutions = {
  NodeNext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }
}
const bundler: Resolutions = {
  Bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
}

const options: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: false,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"]
}

/** Compiler errors of these programs, with only these packages installed. */
const problems = (
  texts: ReadonlyArray<string>,
  packages: ReadonlyArray<string>,
  resolutions: Resolutions
): ReadonlyArray<string> => {
  const folder = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-types-")))
  try {
    for (const name of new Set([...base, ...Object.keys(manifest.dependencies), ...packages])) link(folder, name)
    const own = Path.join(folder, "node_modules", manifest.name)
    Fs.mkdirSync(own, { recursive: true })
    Fs.cpSync(Path.join(root, "package.json"), Path.join(own, "package.json"))
    Fs.cpSync(Path.join(root, "dist"), Path.join(own, "dist"), {
      recursive: true,
      filter: (path) => !path.endsWith(".map")
    })
    Fs.writeFileSync(Path.join(folder, "package.json"), `{ "type": "module" }\n`)
    const programs = texts.map((text, i) => {
      const program = Path.join(folder, `program-${i + 1}.ts`)
      Fs.writeFileSync(program, text)
      return program
    })
    const types = packages.includes("@types/node") ? ["node"] : []
    return Object.entries(resolutions).flatMap(([resolution, chosen]) => {
      const all = { ...options, ...chosen, types }
      const host = { ...ts.createCompilerHost(all), getCurrentDirectory: () => folder }
      const compiled = ts.createProgram(programs, all, host)
      // The declarations of other packages are theirs.
      const own = compiled.getSourceFiles().filter(({ fileName }) => fileName.startsWith(folder))
      return [compiled.getOptionsDiagnostics(), ...own.map((file) => ts.getPreEmitDiagnostics(compiled, file))]
        .flat()
        .map(({ file, messageText, start }) => {
          const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1
          const place = file === undefined ? "" : `${Path.relative(folder, file.fileName)}:${line}: `
          return `${resolution}: ${place}${ts.flattenDiagnosticMessageText(messageText, " ").slice(0, 300)}`
        })
    })
  } finally {
    Fs.rmSync(folder, { recursive: true })
  }
}

const entries = Object.entries(manifest.exports)
  .filter(([path, target]) => target !== null && !path.endsWith(".json") && !path.endsWith(".mjs"))
  .map(([path]) => path)
const plain = entries.filter((path) => packagesOf[path] === undefined)
const groups: ReadonlyArray<readonly [ReadonlyArray<string>, ReadonlyArray<string>]> = [
  [plain, []],
  ...Object.entries(packagesOf).map(([path, packages]) => [[path], packages] as const)
]

const report = (
  what: string,
  texts: ReadonlyArray<string>,
  packages: ReadonlyArray<string>,
  resolutions: Resolutions
): void => {
  const found = problems(texts, packages, resolutions)
  for (const problem of found.slice(0, 20)) console.error(problem)
  console.log(`${found.length === 0 ? "ok  " : "FAIL"} ${what}`)
  if (found.length > 0) process.exitCode = 1
}

for (const [paths, packages] of groups) {
  const imports = paths.map((path, i) => `export * as Entry${i} from "${manifest.name}${path.slice(1)}"\n`)
  report(
    `${paths.join(" ")} with ${["the peers", ...packages].join(", ")}`,
    [imports.join("")],
    packages,
    packages.length === 0 ? { ...nodeNext, ...bundler } : nodeNext
  )
}
const allPackages = [...new Set([...Object.values(packagesOf).flat(), ...packagesOfPages])]
// `npm run docs:check` compiles them as Node resolves modules.
report(`the programs of ${pages.join(", ")}`, pages.flatMap(blocksOf), allPackages, bundler)
