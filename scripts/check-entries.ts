/** Loads every entry of the built package as a dependent program would, and checks that nothing else can be loaded. */
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { filesBelow, root } from "./layout.js"

interface PackageJson {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
}

const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as PackageJson

/** Plain Node: it resolves the package's own name through `exports`, and knows no TypeScript. */
const exportsOf = (specifier: string): ReadonlyArray<string> => {
  const code = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(specifier)}))))`
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"]
  })
  return JSON.parse(output) as ReadonlyArray<string>
}

let failed = 0
const expect = (specifier: string, problem: string | undefined): void => {
  if (problem !== undefined) failed++
  console.log(`${problem === undefined ? "ok  " : "FAIL"} ${specifier}${problem === undefined ? "" : `: ${problem}`}`)
}

for (const [path, target] of Object.entries(manifest.exports)) {
  if (target === null || path === "./package.json" || path.endsWith(".mjs")) continue
  const specifier = manifest.name + path.slice(1)
  try {
    expect(specifier, exportsOf(specifier).length > 0 ? undefined : "exports nothing")
  } catch (error) {
    expect(specifier, String(error))
  }
}

/** Runs a statement on a file in the process that the built package starts for it. */
const queried = (): string => {
  const code = `
    import * as Effect from "effect/Effect"
    import { DatabaseQuerySkill } from "${manifest.name}/builtin"
    const skill = DatabaseQuerySkill.make({ sqlite: process.argv[1] })
    const { decode, handle } = skill.erased
    const call = { id: "call-1", skillName: "database_query", attempt: 1 }
    const params = decode({ sql: "SELECT 1 + 1 AS two" })
    const answer = await Effect.runPromise(Effect.flatMap(params, (params) => handle(params, call)))
    console.log(JSON.stringify(answer))`
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-built-"))
  const file = Path.join(folder, "empty.db")
  Fs.writeFileSync(file, "")
  try {
    return execFileSync(process.execPath, ["--input-type=module", "--eval", code, file], {
      cwd: root,
      encoding: "utf8"
    })
  } finally {
    Fs.rmSync(folder, { recursive: true })
  }
}
const program = `${manifest.name}/builtin/SqliteProcess.mjs`
try {
  const output = queried()
  expect(program, output.includes('"two":2') ? undefined : output)
} catch (error) {
  expect(program, String(error))
}

const hidden = filesBelow(Path.join(root, "dist", "internal")).filter((file) => file.endsWith(".js"))
for (const file of hidden.slice(0, 1)) {
  const specifier = `${manifest.name}/internal/${file.slice(0, -3)}`
  try {
    exportsOf(specifier)
    expect(specifier, "can be loaded")
  } catch (error) {
    expect(`${specifier} (hidden)`, String(error).includes("ERR_PACKAGE_PATH_NOT_EXPORTED") ? undefined : String(error))
  }
}

if (failed > 0) process.exitCode = 1
