/**
 * The diagnostics of the Effect language service, with the severities of tsconfig.json; fails on errors and warnings.
 *
 * Not its command line, which reads tsconfig.json as it stands: under NodeNext effect's declarations count as CommonJS, and then it
 * does not recognise `Effect.gen`, so that `missingReturnYieldStar` never reports.
 */
import { createRequire } from "node:module"
import * as Path from "node:path"
import ts from "typescript"
import { root } from "./layout.js"

interface PluginOptions {
  readonly plugins: ReadonlyArray<{ readonly name: string }>
}

const name = "@effect/language-service"
const init = createRequire(import.meta.url)(`${name}/index.js`) as ts.server.PluginModuleFactory

const file = Path.join(root, "tsconfig.json")
const { config } = ts.readConfigFile(file, ts.sys.readFile) as { config: { compilerOptions: PluginOptions } }
const parsed = ts.parseJsonConfigFileContent(config, ts.sys, root, {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler
})

// Exists only in memory. A rule that stops reporting looks like clean sources; these three must report here.
const canary = Path.join(root, "src", "canary.ts")
const canaryText = `import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
class Db extends Context.Tag("Db")<Db, number>() {}
type Method = Effect.Effect<void, never, Db>
export class Store extends Context.Tag("Store")<Store, { readonly a: Method; readonly b: Method }>() {}
export const program = Effect.gen(function* () {
  Effect.void
  yield* Effect.fail("")
})`
const canaryRules = ["floatingEffect", "missingReturnYieldStar", "leakingRequirements"]

const textOf = (path: string): string | undefined => (path === canary ? canaryText : ts.sys.readFile(path))

const host: ts.LanguageServiceHost = {
  getCompilationSettings: () => parsed.options,
  getScriptFileNames: () => [...parsed.fileNames, canary],
  getScriptVersion: () => "",
  getScriptSnapshot: (path) => {
    const text = textOf(path)
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
  },
  getCurrentDirectory: () => root,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: (path) => path === canary || ts.sys.fileExists(path),
  readFile: textOf,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories
}

const service = init({ typescript: ts as never }).create({
  languageService: ts.createLanguageService(host),
  languageServiceHost: host,
  project: { log: () => {} },
  serverHost: ts.sys,
  config: config.compilerOptions.plugins.find((plugin) => plugin.name === name)
} as unknown as ts.server.PluginCreateInfo)

const severe = new Set([ts.DiagnosticCategory.Error, ts.DiagnosticCategory.Warning])

const diagnose = (path: string): ReadonlyArray<ts.Diagnostic> =>
  service.getSemanticDiagnostics(path).filter((found) => found.source === "effect" && severe.has(found.category))

const found = parsed.fileNames.flatMap(diagnose)
process.stdout.write(
  ts.formatDiagnostics(found, {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (path) => path,
    getNewLine: () => "\n"
  })
)

const canaryFound = diagnose(canary).map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"))
const silent = canaryRules.filter((rule) => !canaryFound.some((text) => text.includes(`effect(${rule})`)))
for (const rule of silent) console.error(`${rule} does not report where it must`)

console.log(`Checked ${parsed.fileNames.length} files for Effect diagnostics: ${found.length} found.`)
if (found.length + silent.length > 0) process.exitCode = 1
