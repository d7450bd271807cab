/**
 * How much texts have to do with a query, by their words.
 *
 * @internal
 * @since 0.1.0
 */

const words = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const k1 = 1.2
const b = 0.75

/**
 * BM25 (Robertson and Zaragoza 2009) of each text among all of them, as a part of the best: 0 where no word of the query stands, 1 for the
 * text that has most to do with it.
 *
 * @category combinators
 */
export const scores = (query: string, texts: ReadonlyArray<string>): ReadonlyArray<number> => {
  const wanted = new Set(words(query))
  if (wanted.size === 0) return texts.map(() => 0)
  const documents = texts.map((text) => {
    const counts = new Map<string, number>()
    const all = words(text)
    for (const word of all) if (wanted.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
    return { counts, length: all.length }
  })
  const among = new Map<string, number>()
  let total = 0
  for (const { counts, length } of documents) {
    total += length
    for (const word of counts.keys()) among.set(word, (among.get(word) ?? 0) + 1)
  }
  const average = total / Math.max(1, documents.length)
  let best = 0
  const raw = documents.map(({ counts, length }) => {
    let score = 0
    for (const [word, count] of counts) {
      const n = among.get(word) ?? 0
      const idf = Math.log(1 + (documents.length - n + 0.5) / (n + 0.5))
      score += (idf * count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / Math.max(1, average)))
    }
    best = Math.max(best, score)
    return score
  })
  return best === 0 ? raw : raw.map((score) => score / best)
}
