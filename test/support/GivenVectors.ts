/** An embedder with the vectors that a test gives for texts, and one that tells every two texts apart. */
import * as Effect from "effect/Effect"
import * as Embedder from "../../src/llm/embedding/Embedder.js"

/** A text without a given vector is near nothing. `calls` are the texts of each call. */
export const make = (
  given: Readonly<Record<string, ReadonlyArray<number>>>,
  options: { readonly dimensions: number; readonly fails?: () => boolean }
) => {
  const calls: Array<ReadonlyArray<string>> = []
  const embedder = Embedder.make({
    model: "given",
    dimensions: options.dimensions,
    embedMany: (texts) =>
      Effect.suspend(() => {
        calls.push(texts)
        return options.fails?.() === true
          ? new Embedder.EmbeddingError({ message: "no vectors today" })
          : Effect.succeed(texts.map((text) => given[text] ?? new Array<number>(options.dimensions).fill(0)))
      })
  })
  return { embedder, calls }
}
