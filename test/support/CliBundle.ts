/**
 * The command line with configurations, bundled to files that share their modules: each start is that of a program
 * whose configuration is a module beside it.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Esbuild from "esbuild"
import * as TestServers from "./TestServers.js"

const here = fileURLToPath(new URL(".", import.meta.url))
const configs = fileURLToPath(new URL("../cli/configs", import.meta.url))

/** Packages with native code, or that read files beside their own. */
const outside = ["libsql", "better-sqlite3", "pg", "ioredis", "sqlite-vec"]

/** Lets modules of a folder import a package of this repository. */
export const link = (name: string, folder: string): void => {
  Fs.mkdirSync(Path.join(folder, "node_modules"), { recursive: true })
  Fs.symlinkSync(Path.resolve(here, "../../node_modules", name), Path.join(folder, "node_modules", name))
}

export interface CliBundle {
  /** The program: `node main ...`. */
  readonly main: string
  /** The path of a configuration of `test/cli/configs`. */
  readonly config: (name: string) => string
  /** A folder of its own for each call. */
  readonly folder: () => string
}

/** Bundles the command line and all configurations. The scope removes the files. */
export const make = Effect.gen(function* () {
  const made = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-cli-")))),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
  )
  const names = Fs.readdirSync(configs).map((file) => Path.basename(file, ".ts"))
  yield* Effect.promise(() =>
    Esbuild.build({
      entryPoints: [
        { in: Path.join(here, "programs/CommandLine.ts"), out: "main" },
        ...names.map((name) => ({ in: Path.join(configs, `${name}.ts`), out: name }))
      ],
      outdir: made,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      target: "node20",
      logLevel: "silent",
      external: [...outside, "tsx", "jiti"],
      banner: {
        js: 'import { createRequire as lexRequire } from "node:module"; const require = lexRequire(import.meta.url);'
      }
    })
  )
  const page = yield* Effect.promise(TestServers.studioPage)
  Fs.cpSync(page, Path.join(made, "page"), { recursive: true })
  for (const name of outside) link(name, made)
  let folders = 0
  const bundle: CliBundle = {
    main: Path.join(made, "main.mjs"),
    config: (name) => Path.join(made, `${name}.mjs`),
    folder: () => {
      const path = Path.join(made, `folder-${folders++}`)
      Fs.mkdirSync(path)
      return path
    }
  }
  return bundle
})
