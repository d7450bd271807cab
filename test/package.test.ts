import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import ts from "typescript"
import { filesBelow, root } from "../scripts/layout.js"

// Inside the repository, so that bare imports resolve as they do for the built package.
const work = Path.join(root, "node_modules", ".cache", `package-test-${process.pid}`)

/** Hooks run on a thread of their own and see what `import` loads; `require` inside CommonJS packages shows in `require.cache`. */
const hooks = `
import { appendFileSync } from "node:fs"
let file
export const initialize = (data) => { file = data }
export const load = (url, context, next) => {
  appendFileSync(file, url + "\\n")
  return next(url, context)
}
`

const recorder = `
import { appendFileSync } from "node:fs"
import { createRequire, register } from "node:module"
import { pathToFileURL } from "node:url"
const file = process.env.RECORD_TO
register("./hooks.mjs", import.meta.url, { data: file })
process.on("exit", () => {
  for (const path of Object.keys(createRequire(import.meta.url).cache)) appendFileSync(file, pathToFileURL(path).href + "\\n")
})
`

/** What the compiler emits for `src`, without its checks: the files that `dist` has. */
const emit = (): void => {
  for (const file of filesBelow(Path.join(root, "src"))) {
    const target = Path.join(work, "src", file.replace(/\.ts$/, ".js"))
    Fs.mkdirSync(Path.dirname(target), { recursive: true })
    const { outputText } = ts.transpileModule(Fs.readFileSync(Path.join(root, "src", file), "utf8"), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        verbatimModuleSyntax: true
      }
    })
    Fs.writeFileSync(target, outputText)
  }
}

/** Every module that is loaded by a program that imports `specifier` and nothing else, as URLs. */
const loadedBy = (specifier: string): ReadonlyArray<string> => {
  const record = Path.join(work, "loaded.txt")
  Fs.writeFileSync(record, "")
  const entry = Path.join(work, "entry.mjs")
  Fs.writeFileSync(entry, `await import(${JSON.stringify(specifier)})\n`)
  execFileSync(process.execPath, ["--import", pathToFileURL(Path.join(work, "recorder.mjs")).href, entry], {
    cwd: root,
    env: { PATH: process.env.PATH, RECORD_TO: record },
    stdio: ["ignore", "ignore", "pipe"]
  })
  return [...new Set(Fs.readFileSync(record, "utf8").trim().split("\n"))]
}

const packageOf = (url: string): string | undefined => /.*\/node_modules\/((?:@[^/]+\/)?[^/.][^/]*)\//.exec(url)?.[1]

const packagesOf = (urls: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(urls.map(packageOf).filter((name) => name !== undefined))].sort()

const heavy = new RegExp(
  `^(${[
    "pg(-.*)?",
    "postgres",
    "(better-)?sqlite3?",
    "libsql",
    "@libsql/.*",
    "ioredis",
    "redis",
    "@opentelemetry/.*",
    "@effect/(opentelemetry|cluster|workflow|cli|sql.*|platform-.*|ai-.*|printer.*|vitest)",
    "@modelcontextprotocol/.*",
    "openai",
    "@anthropic-ai/.*",
    "gpt-tokenizer",
    "libphonenumber-js",
    "tiktoken",
    "isolated-vm",
    "undici",
    "ws",
    "lmdb"
  ].join("|")})$`
)

const barrel = /\/node_modules\/(effect|@effect\/[^/]+)\/dist\/(esm|cjs)\/index\.js$/

// Each program loads hundreds of modules through the hooks, which takes its time on a busy machine.
const timeout = 300_000

describe("package", { timeout }, () => {
  let loaded: ReadonlyArray<string> = []

  beforeAll(() => {
    Fs.mkdirSync(work, { recursive: true })
    Fs.writeFileSync(Path.join(work, "package.json"), `{ "type": "module" }`)
    Fs.writeFileSync(Path.join(work, "hooks.mjs"), hooks)
    Fs.writeFileSync(Path.join(work, "recorder.mjs"), recorder)
    emit()
    loaded = loadedBy("./src/index.js")
  }, timeout)

  afterAll(() => Fs.rmSync(work, { recursive: true, force: true }))

  it("the recorder sees imports and their requires", () => {
    Fs.writeFileSync(Path.join(work, "known.cjs"), `require("ajv")`)
    assert.includeMembers([...packagesOf(loadedBy("./known.cjs"))], ["ajv", "fast-deep-equal"])
    assert.includeMembers([...packagesOf(loadedBy("gpt-tokenizer"))], ["gpt-tokenizer"])
    assert.isTrue(loadedBy("effect").some((url) => barrel.test(url)))
  })

  it("the root entry loads no heavy library and no barrel", () => {
    assert.isTrue(loaded.some((url) => url.endsWith("/src/domain/Version.js")))
    assert.include(packagesOf(loaded), "effect")
    assert.deepStrictEqual(
      packagesOf(loaded).filter((name) => heavy.test(name)),
      []
    )
    assert.deepStrictEqual(
      loaded.filter((url) => barrel.test(url)),
      []
    )
  })

  it("the root entry loads no Node module for databases or processes", () => {
    const builtin = /^node:(sqlite|child_process|cluster|worker_threads|vm)$/
    assert.deepStrictEqual(
      loaded.filter((url) => builtin.test(url)),
      []
    )
  })
})
