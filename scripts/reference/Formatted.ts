/** Formats many texts of TypeScript at once. */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Os from "node:os"
import * as Path from "node:path"

const settings = {
  formatter: { indentStyle: "space", indentWidth: 2, lineWidth: 88 },
  javascript: {
    formatter: { semicolons: "asNeeded", quoteStyle: "double", trailingCommas: "none", arrowParentheses: "always" }
  }
}

/** The texts in their order. One that is no TypeScript stays as it is. */
export const all = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-format-"))
  const file = (i: number): string => Path.join(folder, `${i}.ts`)
  try {
    Fs.writeFileSync(Path.join(folder, "biome.json"), JSON.stringify(settings))
    for (const [i, text] of texts.entries()) Fs.writeFileSync(file(i), text)
    const biome = createRequire(import.meta.url).resolve("@biomejs/biome/bin/biome")
    const { error } = spawnSync(process.execPath, [biome, "format", "--write", "--max-diagnostics=1", "."], {
      cwd: folder
    })
    if (error !== undefined) throw error
    return texts.map((_, i) => Fs.readFileSync(file(i), "utf8").trim())
  } finally {
    Fs.rmSync(folder, { recursive: true, force: true })
  }
}
