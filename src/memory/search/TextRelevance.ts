/**
 * Scores the relevance of texts to a query by their words.
 *
 * @private
 * @since 0.1.0
 */
import * as LexicalIndex from "../text/LexicalIndex.js"
import * as TextAnalyzer from "../text/TextAnalyzer.js"

interface Item extends LexicalIndex.Indexed {
  readonly index: number
}

const room = LexicalIndex.scratch()

/**
 * BM25 of each text among all of them, as a share of the best: 0 if the text has no word of the query, 1 for the most
 * relevant text.
 *
 * @category combinators
 */
export const scores = (query: string, texts: ReadonlyArray<string>): ReadonlyArray<number> => {
  const relevance = texts.map(() => 0)
  const terms = TextAnalyzer.queryTerms(TextAnalyzer.english, query)
  if (terms.length === 0) return relevance
  const index = new LexicalIndex.LexicalIndex<Item>(room, (a, b) => a.index - b.index)
  for (const [at, text] of texts.entries()) index.add({ index: at, slot: -1 }, TextAnalyzer.english.analyze(text))
  const { hits } = index.search(terms, texts.length)
  const best = hits[0]?.score ?? 1
  for (const { item, score } of hits) relevance[item.index] = score / best
  return relevance
}
