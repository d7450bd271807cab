/**
 * Checks the local models against the real package: `npm run check:transformers -- <folder>`, where the folder has
 * `node_modules/@huggingface/transformers`. Writes a model of eight words to a temporary folder, embeds and scores with
 * it, and compares with what it must give. The package is no dependency: it weighs half a gigabyte, and its
 * installation wants more than the registry.
 */
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Os from "node:os"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import type * as Transformers from "../src/provider/embedding/Transformers.js"
import * as TransformersCrossEncoder from "../src/provider/embedding/TransformersCrossEncoder.js"
import * as TransformersEmbedder from "../src/provider/embedding/TransformersEmbedder.js"
import * as Tiny from "../test/support/TinyTransformer.js"

const close = (actual: ArrayLike<number>, expected: ReadonlyArray<number>): boolean =>
  actual.length === expected.length && expected.every((value, at) => Math.abs(value - (actual[at] ?? 0)) < 1e-5)

const check = (load: Transformers.Load, folder: string) =>
  Effect.gen(function* () {
    const paths = Tiny.write(folder)
    const options = { localFilesOnly: true, dtype: "fp32", maxBatchSize: 3 }
    const embedder = yield* TransformersEmbedder.make(load, { ...options, model: paths.embedding })
    const vectors = yield* embedder.embedMany(Tiny.texts)
    const encoder = yield* TransformersCrossEncoder.make(load, { ...options, model: paths.scoring })
    const query = "dog plays"
    const scores = yield* encoder.score(query, Tiny.texts)
    const missing = yield* Effect.either(TransformersEmbedder.make(load, { ...options, model: `${folder}/missing` }))
    return {
      "the dimensions of the configuration": embedder.dimensions === 2,
      "one normalized vector for each text": vectors.every((vector, at) =>
        close(vector, Tiny.vectorOf(Tiny.texts[at] ?? ""))
      ),
      "one score for each pair": close(
        scores,
        Tiny.texts.map((text) => Tiny.scoreOf(query, text))
      ),
      "an error for a model that is not there": missing._tag === "Left" && missing.left._tag === "EmbeddingError"
    }
  })

const [given] = process.argv.slice(2)
if (given === undefined) {
  console.log("usage: npm run check:transformers -- <folder with @huggingface/transformers>")
  process.exitCode = 1
} else {
  const require = createRequire(Path.resolve(given, "any.js"))
  const load = () => import(pathToFileURL(require.resolve("@huggingface/transformers")).href)
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "tiny-transformer-"))
  const checked = await Effect.runPromise(Effect.scoped(check(load, folder))).finally(() =>
    Fs.rmSync(folder, { recursive: true, force: true })
  )
  for (const [what, isGood] of Object.entries(checked)) console.log(`${isGood ? "ok" : "FAILED"}: ${what}`)
  if (!Object.values(checked).every((isGood) => isGood)) process.exitCode = 1
}
