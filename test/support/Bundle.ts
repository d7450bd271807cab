/**
 * A program of tests as one file of JavaScript, which starts in a fraction of the time that TypeScript takes: for programs that are started, and
 * killed, many times.
 */
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import * as Esbuild from "esbuild"

const folder = fileURLToPath(new URL("./programs", import.meta.url))
const { resolve } = createRequire(import.meta.url)

/** They have code of the machine, or look for files beside their own. */
const outside = /^(?:libsql|better-sqlite3|pg|pg-.*|ioredis|sqlite-vec)$/

/**
 * The path of the bundle, which is removed with the scope. Programs lie in `./programs` unless another folder is named. `external` says where a
 * module is that stays outside of it.
 */
export const make = (
  program: string,
  from: string = folder,
  external: (path: string) => string | undefined = () => undefined
) =>
  Effect.gen(function* () {
    const made = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-program-"))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
    )
    const outfile = Path.join(made, `${program}.mjs`)
    yield* Effect.promise(() =>
      Esbuild.build({
        entryPoints: [Path.join(from, `${program}.ts`)],
        outfile,
        bundle: true,
        platform: "node",
        format: "esm",
        target: "node20",
        logLevel: "silent",
        banner: {
          js: 'import { createRequire as lexRequire } from "node:module"; const require = lexRequire(import.meta.url);'
        },
        plugins: [
          {
            name: "external",
            setup: (build) =>
              build.onResolve({ filter: /^[^./]/ }, (given) => {
                const path = external(given.path)
                return path === undefined ? undefined : { path, external: true }
              })
          },
          {
            name: "outside",
            setup: (build) =>
              build.onResolve({ filter: outside }, ({ path }) => {
                try {
                  return { path: pathToFileURL(resolve(path)).href, external: true }
                } catch {
                  return { path, external: true }
                }
              })
          }
        ]
      })
    )
    return outfile
  })
