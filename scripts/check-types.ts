/**
 * Compiles a program that imports the entries of the built package with `skipLibCheck: false`, outside of this
 * repository, with exactly the packages that the README names for those entries. Requires `dist`.
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

const options: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: false,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"]
}

/** Compiler errors of a program that imports these entries with only these packages installed. */
const problems = (entries: ReadonlyArray<string>, packages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const folder = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-types-")))
  try {
    for (const name of [...base, ...Object.keys(manifest.dependencies), ...packages]) link(folder, name)
    const own = Path.join(folder, "node_modules", manifest.name)
    Fs.mkdirSync(own, { recursive: true })
    Fs.cpSync(Path.join(root, "package.json"), Path.join(own, "package.json"))
    Fs.cpSync(Path.join(root, "dist"), Path.join(own, "dist"), {
      recursive: true,
      filter: (path) => !path.endsWith(".map")
    })
    Fs.writeFileSync(Path.join(folder, "package.json"), `{ "type": "module" }\n`)
    const program = Path.join(folder, "program.ts")
    const imports = entries.map((entry, i) => `export * as Entry${i} from "${manifest.name}${entry.slice(1)}"\n`)
    Fs.writeFileSync(program, imports.join(""))
    const types = packages.includes("@types/node") ? ["node"] : []
    const host = ts.createCompilerHost(options)
    const compiled = ts.createProgram([program], { ...options, types }, { ...host, getCurrentDirectory: () => folder })
    return ts
      .getPreEmitDiagnostics(compiled)
      .filter(({ file }) => file === undefined || file.fileName.startsWith(folder))
      .map(({ file, messageText, start }) => {
        const place =
          file === undefined
            ? ""
            : `${Path.relative(folder, file.fileName)}:${file.getLineAndCharacterOfPosition(start ?? 0).line + 1}: `
        return place + ts.flattenDiagnosticMessageText(messageText, " ").slice(0, 300)
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

for (const [paths, packages] of groups) {
  const found = problems(paths, packages)
  for (const problem of found.slice(0, 20)) console.error(problem)
  console.log(
    `${found.length === 0 ? "ok  " : "FAIL"} ${paths.join(" ")} with ${["the peers", ...packages].join(", ")}`
  )
  if (found.length > 0) process.exitCode = 1
}
