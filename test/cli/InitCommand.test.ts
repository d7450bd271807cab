import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Version } from "effect-lexigram"
import * as Commands from "../support/Commands.js"

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-init-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const read = (...path: ReadonlyArray<string>): string => Fs.readFileSync(Path.join(...path), "utf8")

const manifest = JSON.parse(read(import.meta.dirname, "../../package.json"))

const filesBelow = (path: string): ReadonlyArray<string> =>
  Fs.readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => Path.relative(path, Path.join(entry.parentPath, entry.name)))
    .sort()

describe("lexigram init", () => {
  for (const template of ["minimal", "web", "service"]) {
    it.scoped(`writes a ${template} project with the packages of this version`, () =>
      Effect.gen(function* () {
        const path = Path.join(yield* folder, "below", "my-agents")
        const { code, err, json } = yield* Commands.run(["init", path, "--template", template, "--json"])
        assert.deepStrictEqual([code, err], [0, ""])
        assert.deepInclude(json, { name: "my-agents", template, folder: path })
        assert.deepStrictEqual([...json.files].sort(), [...filesBelow(path)])
        const made = JSON.parse(read(path, "package.json"))
        assert.strictEqual(made.name, "my-agents")
        assert.strictEqual(made.dependencies["effect-lexigram"], Version.version)
        assert.isAbove(Object.keys(made.dependencies).length, 10)
        const ranges: Readonly<Record<string, string>> = { ...manifest.devDependencies, ...manifest.peerDependencies }
        for (const [name, range] of Object.entries({ ...made.dependencies, ...made.devDependencies })) {
          if (name !== "effect-lexigram") assert.strictEqual(range, ranges[name], name)
        }
        // What it imports is installed.
        const imported = json.files.flatMap((file: string) =>
          Array.from(
            /\.ts$/.test(file) ? read(path, file).matchAll(/from "((?:@[^/"]+\/)?[^./"][^/"]*)/g) : [],
            ([, name]) => name
          )
        )
        assert.include(imported, "effect-lexigram")
        for (const name of imported) {
          if (!name.startsWith("node:")) assert.property({ ...made.dependencies, ...made.devDependencies }, name)
        }
        assert.include(read(path, "README.md"), "# my-agents\n")
        assert.include(read(path, ".gitignore"), ".env")
      })
    )
  }

  it.scoped("makes a minimal project unless a template is named, and says what to do next", () =>
    Effect.gen(function* () {
      const path = Path.join(yield* folder, "agents")
      const { code, out } = yield* Commands.run(["init", path])
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(
        filesBelow(path).filter((file) => file.startsWith("src")),
        [Path.join("src", "Clerk.ts")]
      )
      assert.match(out, /^Made agents with 7 files:\n/)
      assert.match(out, /\n {2}npm install\n {2}npm test\n$/)
      assert.strictEqual((yield* Commands.run(["init", path, "--template", "none"])).code, 2)
    })
  )

  it.scoped("leaves a folder with files as it is", () =>
    Effect.gen(function* () {
      const path = yield* folder
      Fs.mkdirSync(Path.join(path, "full"))
      Fs.writeFileSync(Path.join(path, "full", "a\u001b[2Jb"), "mine")
      const full = yield* Commands.run(["init", Path.join(path, "full")])
      assert.strictEqual(full.code, 1)
      assert.include(full.err, "is not empty")
      assert.notInclude(full.err, "\u001b")
      assert.lengthOf(filesBelow(Path.join(path, "full")), 1)
      Fs.writeFileSync(Path.join(path, "file"), "mine")
      const file = yield* Commands.run(["init", Path.join(path, "file")])
      assert.strictEqual(file.code, 1)
      assert.include(file.err, "cannot be written")
      assert.strictEqual(read(path, "file"), "mine")
      // A second time is one with files.
      const again = Path.join(path, "again")
      assert.strictEqual((yield* Commands.run(["init", again])).code, 0)
      Fs.writeFileSync(Path.join(again, "README.md"), "mine")
      assert.strictEqual((yield* Commands.run(["init", again])).code, 1)
      assert.strictEqual(read(again, "README.md"), "mine")
    })
  )

  it.scoped("takes the folder of a repository that has nothing yet", () =>
    Effect.gen(function* () {
      const path = Path.join(yield* folder, "fresh")
      Fs.mkdirSync(Path.join(path, ".git"), { recursive: true })
      assert.strictEqual((yield* Commands.run(["init", path])).code, 0)
    })
  )

  it.scoped("refuses names that npm refuses, before it writes anything", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const names = [
        "My-Agents",
        ".hidden",
        "_agents",
        "two words",
        "a\u202eb",
        "ünicode",
        "node_modules",
        "effect",
        "x".repeat(215),
        "a$b"
      ]
      for (const name of names) {
        const { code, err } = yield* Commands.run(["init", Path.join(path, name)])
        assert.strictEqual(code, 2, name)
        assert.include(
          err,
          "lexigram init my-agents".slice(0, name === "effect" || name === "node_modules" ? 0 : undefined)
        )
        assert.notInclude(err, "\u202e")
      }
      assert.deepStrictEqual(Fs.readdirSync(path), [])
    })
  )
})
