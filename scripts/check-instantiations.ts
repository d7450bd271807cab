/**
 * Counts the type instantiations of small programs on the built declarations, above those of their imports, and fails
 * above a bound: what an agent costs the compiler and the editor. Requires `dist`.
 */
import * as Path from "node:path"
import ts from "typescript"
import { root } from "./layout.js"

/** The most instantiations of each program. Ten classes of `Schema.TaggedError` alone take 11,700. */
const bounds: Readonly<Record<string, number>> = { "ten-tools": 10_000, "ten-failing-tools": 20_000 }

const options: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  types: ["node"],
  paths: { "effect-lexigram": [Path.join(root, "dist", "index.d.ts")] }
}

const instantiationsOf = (name: string): number => {
  const program = ts.createProgram([Path.join(root, "scripts", "types", `${name}.ts`)], options)
  const [first] = ts.getPreEmitDiagnostics(program)
  if (first !== undefined) throw new Error(`${name}: ${ts.flattenDiagnosticMessageText(first.messageText, " ")}`)
  return program.getInstantiationCount()
}

const imports = instantiationsOf("imports")
for (const [name, bound] of Object.entries(bounds)) {
  const count = instantiationsOf(name) - imports
  console.log(`${count <= bound ? "ok  " : "FAIL"} ${name}: ${count} instantiations, at most ${bound}`)
  if (count > bound) process.exitCode = 1
}
