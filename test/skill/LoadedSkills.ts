/** Loaded skills for tests: made up, or of a temporary folder. */
import { createHash } from "node:crypto"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type { LoadedSkill, SkillFile } from "../../src/skill/definition/SkillFile.js"

export const loaded = (
  name: string,
  more?: Partial<Omit<LoadedSkill, "file">> & { readonly file?: Partial<SkillFile> }
): LoadedSkill => ({
  directory: `/skills/${name}`,
  hash: `hash of ${name}`,
  files: [],
  warnings: [],
  ...more,
  file: { name, description: `What ${name} does`, metadata: {}, body: `Do ${name}`, ...more?.file }
})

/** Writes files below a new folder; `load` reads it again. Texts, or bytes. */
export const folder = (name: string, files: Readonly<Record<string, string | Uint8Array>>, file?: Partial<SkillFile>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
    const directory = path.join(root, name)
    yield* fs.makeDirectory(directory)
    const write = (at: string, content: string | Uint8Array) =>
      Effect.gen(function* () {
        const target = path.join(directory, at)
        yield* fs.makeDirectory(path.dirname(target), { recursive: true })
        yield* typeof content === "string" ? fs.writeFileString(target, content) : fs.writeFile(target, content)
      })
    for (const [at, content] of Object.entries(files)) yield* write(at, content)
    const load = Effect.gen(function* () {
      const body = yield* fs.exists(path.join(directory, "SKILL.md"))
      const text = body ? yield* fs.readFileString(path.join(directory, "SKILL.md")) : `Do ${name}`
      return loaded(name, {
        directory,
        files: Object.keys(files)
          .filter((one) => one !== "SKILL.md")
          .sort(),
        hash: createHash("sha256").update(text).digest("hex"),
        file: { body: text, ...file }
      })
    })
    return { root, directory, write, load, skill: yield* load }
  })
