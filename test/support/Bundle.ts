/**
 * Bundles a test program to one JavaScript file, which starts much faster than TypeScript: for programs that are
 * started and killed many times.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import * as Esbuild from "esbuild"

const folder = fileURLToPath(new URL("./programs", import.meta.url))

/** Packages with native code, or that read files beside their own. */
const outside = /^(?:libsql|better-sqlite3|pg|pg-.*|ioredis|sqlite-vec)$/

/**
 * Path of the bundle, which the scope removes. Programs are in `./programs` by default. `external` gives the path of a
 * module that stays outside.
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
        // An example that is bundled too runs itself if it is the file that was started.
        banner: {
          js: `import { createRequire as lexRequire } from "node:module"; const require = lexRequire(import.meta.url); globalThis.process.argv[1] = ${JSON.stringify(program)};`
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
              build.onResolve({ filter: outside }, async ({ kind, path, pluginData, resolveDir }) => {
                // The nested resolution finds the file of an import, which may differ from that of a `require`.
                if (pluginData === outside) return undefined
                const found = await build.resolve(path, { kind, resolveDir, pluginData: outside })
                return {
                  path: found.errors.length > 0 ? path : pathToFileURL(found.path).href,
                  external: true
                }
              })
          }
        ]
      })
    )
    return outfile
  })
