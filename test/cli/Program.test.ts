import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CliBundle from "../support/CliBundle.js"
import * as Shared from "../support/Shared.js"

class Bundle extends Context.Tag("test/cli/Program/Bundle")<Bundle, CliBundle.CliBundle>() {}

const node = (args: ReadonlyArray<string>, cwd: string, input = "") =>
  Effect.promise(
    () =>
      new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
        const child = ChildProcess.execFile(process.execPath, args, { cwd }, (error, out, err) =>
          resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err })
        )
        child.stdin?.end(input)
      })
  )

const program = fileURLToPath(new URL("../../src/cli/lexigram.mjs", import.meta.url))

/** An install of the package with these packages beside it, whose command line says that it has begun. */
const install = (versions: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-install-"))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
    ),
    (root) => {
      const own = Path.join(root, "node_modules/effect-lexigram")
      Fs.mkdirSync(Path.join(own, "dist/cli"), { recursive: true })
      Fs.copyFileSync(program, Path.join(own, "dist/cli/lexigram.mjs"))
      Fs.writeFileSync(Path.join(own, "dist/cli/index.js"), 'export const Cli = { main: () => console.log("begun") }\n')
      Fs.copyFileSync(Path.resolve(program, "../../../package.json"), Path.join(own, "package.json"))
      for (const [name, version] of Object.entries(versions)) {
        const folder = Path.join(root, "node_modules", name)
        Fs.mkdirSync(folder, { recursive: true })
        Fs.writeFileSync(Path.join(folder, "package.json"), JSON.stringify({ name, version }))
      }
      return { root, main: Path.join(own, "dist/cli/lexigram.mjs") }
    }
  )

const fitting = {
  effect: "3.99.0",
  "@effect/platform": "0.97.9",
  "@effect/platform-node": "0.108.9",
  "@effect/cli": "0.77.9",
  "@effect/printer": "0.51.9",
  "@effect/printer-ansi": "0.51.9"
}

Shared.suite("the program lexigram", Layer.scoped(Bundle, CliBundle.make), (test) => {
  Shared.scoped(test)("begins where all packages fit", () =>
    Effect.gen(function* () {
      const { main, root } = yield* install(fitting)
      assert.deepInclude(yield* node([main, "--help"], root), { code: 0, out: "begun\n", err: "" })
    })
  )

  Shared.scoped(test)("says its version without loading the command line", () =>
    Effect.gen(function* () {
      const { main, root } = yield* install(fitting)
      const said = yield* node([main, "--version"], root)
      assert.deepStrictEqual([said.code, said.err], [0, ""])
      assert.match(said.out, /^\d+\.\d+\.\d+\n$/)
    })
  )

  const { effect: _, ...withoutEffect } = fitting
  const { "@effect/cli": __, ...withoutCli } = fitting
  const others: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, string]> = [
    ["effect 4", { ...fitting, effect: "4.0.0" }, "and 4.0.0 is installed"],
    ["an effect that is too old", { ...fitting, effect: "3.10.0" }, "and 3.10.0 is installed"],
    ["no effect", withoutEffect, "effect is not installed"],
    ["another line of @effect/platform", { ...fitting, "@effect/platform": "0.98.0" }, "and 0.98.0 is installed"],
    ["no @effect/cli", withoutCli, "@effect/cli is not installed"]
  ]
  for (const [what, versions, said] of others) {
    Shared.scoped(test)(`says what to install beside ${what}`, () =>
      Effect.gen(function* () {
        const { main, root } = yield* install(versions)
        const { code, err, out } = yield* node([main], root)
        assert.strictEqual(code, 3)
        assert.strictEqual(out, "")
        assert.include(err, said)
        assert.match(err, /^Install what fits: npm install "(?:effect|@effect\/\w+)@\^\d+\.\d+\.\d+"$/m)
      })
    )
  }

  const config = (bundle: CliBundle.CliBundle, cwd: string) =>
    Fs.writeFileSync(
      Path.join(cwd, "lexigram.config.ts"),
      `import desk from ${JSON.stringify(bundle.config("Desk"))}\nconst made: object = desk\nexport default made\n`
    )

  for (const loader of ["tsx", "jiti"]) {
    Shared.scoped(test)(`loads a configuration in TypeScript by ${loader}`, () =>
      Effect.gen(function* () {
        const bundle = yield* Bundle
        const cwd = bundle.folder()
        config(bundle, cwd)
        CliBundle.link(loader, cwd)
        Fs.writeFileSync(Path.join(cwd, "package.json"), '{ "type": "module" }')
        const { code, err, out } = yield* node([bundle.main, "run"], cwd, "hello\n")
        assert.deepStrictEqual([code, out], [0, "heard 1: hello\n"], err)
      })
    )
  }

  Shared.scoped(test)("says what loads TypeScript where nothing does, and which package a configuration lacks", () =>
    Effect.gen(function* () {
      const bundle = yield* Bundle
      const cwd = bundle.folder()
      config(bundle, cwd)
      // Newer versions of Node strip types.
      const plain = yield* node([bundle.main, "run", "hello"], cwd)
      if (Reflect.get(process.features, "typescript")) assert.strictEqual(plain.code, 0)
      else {
        assert.strictEqual(plain.code, 3)
        assert.include(plain.err, "npm install --save-dev tsx")
      }
      CliBundle.link("tsx", cwd)
      const common = yield* node([bundle.main, "run", "hello"], cwd)
      assert.strictEqual(common.code, 3)
      assert.include(common.err, '"type": "module"')
      Fs.writeFileSync(Path.join(cwd, "other.mjs"), 'import "not-installed-here"\n')
      const missing = yield* node([bundle.main, "run", "hello", "--config", "other.mjs"], cwd)
      assert.strictEqual(missing.code, 3)
      assert.include(missing.err, "npm install not-installed-here")
      Fs.writeFileSync(Path.join(cwd, "broken.mjs"), "throw new Error('the key is sk-abcdefghijkl')\n")
      const broken = yield* node([bundle.main, "run", "hello", "--config", "broken.mjs"], cwd)
      assert.strictEqual(broken.code, 3)
      assert.include(broken.err, "broken.mjs cannot be loaded: the key is [REDACTED]")
    })
  )
})
