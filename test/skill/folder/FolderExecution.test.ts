import * as Fs from "node:fs"
import * as Os from "node:os"
import * as NodePath from "node:path"
import * as PlatformPath from "@effect/platform/Path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as FolderExecution from "../../../src/skill/folder/FolderExecution.js"
import * as SkillFolders from "../../../src/skill/folder/SkillFolders.js"
import * as SkillTrust from "../../../src/skill/folder/SkillTrust.js"

const loaded = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const root = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "skills-")))),
      (root) => Effect.sync(() => Fs.rmSync(root, { recursive: true, force: true }))
    )
    const all = { "s/SKILL.md": "---\nname: s\ndescription: d\n---\nDo it.", ...files }
    for (const [path, content] of Object.entries(all)) {
      const target = NodePath.join(root, path)
      Fs.mkdirSync(NodePath.dirname(target), { recursive: true })
      Fs.writeFileSync(target, content)
    }
    const { skills } = yield* SkillFolders.scan({ paths: [root] })
    return skills[0] ?? assert.fail("no skill")
  })

const onDisk = Layer.merge(NodeFileSystem.layer, PlatformPath.layer)

const contentsOf = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const skill = yield* loaded(files)
    const output: SkillFolders.SkillOutput = {
      status: "instruction_only",
      instructions: "Do it.",
      skillDir: skill.directory,
      files: skill.files
    }
    const whole = yield* FolderExecution.withContents(skill, output)
    assert.strictEqual(whole.status, "instruction_only")
    return whole.status === "instruction_only" ? (whole.contents ?? {}) : {}
  }).pipe(Effect.scoped, Effect.provide(onDisk))

const { bytes, fileBytes, files } = FolderExecution.limits

describe("the texts of a skill's files", () => {
  it.effect("are included, whatever their names", () =>
    Effect.gen(function* () {
      const contents = yield* contentsOf({ "s/__proto__": "proto", "s/a b/ü.md": "ü", "s/scripts/x.sh": "echo" })
      assert.deepStrictEqual(Object.entries(contents), [
        ["__proto__", "proto"],
        ["a b/ü.md", "ü"]
      ])
    })
  )

  it.effect("are bounded per file, in total, and in number", () =>
    Effect.gen(function* () {
      const exact = "x".repeat(fileBytes)
      const one = yield* contentsOf({ "s/a": exact, "s/b": `${exact}y`, "s/c": "c" })
      assert.deepStrictEqual(Object.keys(one), ["a", "c"])
      // Four fill it to the last byte.
      const full = yield* contentsOf({ "s/a": exact, "s/b": exact, "s/c": exact, "s/d": exact, "s/e": "e", "s/f": "" })
      assert.deepStrictEqual(Object.keys(full), ["a", "b", "c", "d", "f"])
      assert.strictEqual(bytes, 4 * fileBytes)
      const many = Object.fromEntries(
        Array.from({ length: files + 5 }, (_, i) => [`s/${String(i).padStart(3, "0")}`, "."])
      )
      assert.lengthOf(Object.keys(yield* contentsOf(many)), files)
    })
  )

  it.effect("are omitted after the output of a script", () =>
    Effect.gen(function* () {
      const skill = yield* loaded({ "s/a": "a" })
      const output: SkillFolders.SkillOutput = { status: "success", output: 1, skillDir: skill.directory }
      assert.strictEqual(yield* FolderExecution.withContents(skill, output), output)
    }).pipe(Effect.scoped, Effect.provide(onDisk))
  )
})

describe("trust in a folder", () => {
  it.effect("is checked each time, for the skill as it is", () =>
    Effect.gen(function* () {
      const skill = yield* loaded({})
      const asked: Array<unknown> = []
      const layer = SkillTrust.layer((skill) =>
        Effect.sync(() => {
          asked.push(skill)
          return asked.length === 1
        })
      )
      yield* Effect.provide(FolderExecution.trusted(skill), layer)
      const error = yield* Effect.flip(Effect.provide(FolderExecution.trusted(skill), layer))
      assert.deepStrictEqual([error._tag, error.reason, error.skillName], ["SkillTrustError", "Denied", "s"])
      assert.deepStrictEqual(asked, [skill, skill])
    }).pipe(Effect.scoped, Effect.provide(onDisk))
  )
})
