import { SourceMap } from "node:module"
import { assert, it } from "@effect/vitest"
import * as Esbuild from "esbuild"
import { perLine } from "../../scripts/build/LineMaps.js"

it("every line keeps the file and the line it comes from", async () => {
  const lines = Array.from({ length: 60 }, (_, i) => `export const a${i} = [${i}, { b: "${"x".repeat(i)}" }]`)
  const { code, map } = await Esbuild.transform(lines.join("\n\n"), {
    sourcemap: "external",
    sourcefile: "a.ts",
    loader: "ts"
  })
  const whole = JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0]
  const [before, after] = [new SourceMap(whole), new SourceMap({ ...whole, mappings: perLine(whole.mappings) })]
  const placeOf = (found: SourceMap, line: number) => {
    const entry = found.findEntry(line, 6) as { readonly originalSource?: string; readonly originalLine?: number }
    return [entry.originalSource, entry.originalLine]
  }
  const count = code.split("\n").length - 1
  assert.isAbove(count, 50)
  for (let line = 0; line < count; line++) assert.deepStrictEqual(placeOf(after, line), placeOf(before, line))
})
