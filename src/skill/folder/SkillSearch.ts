/**
 * Finds skills by the words of a query, for listings without room for all of them.
 *
 * @private
 * @since 0.1.0
 */
import type { LoadedSkill } from "../definition/SkillFile.js"

/** Words of a query that are used. */
const MAX_WORDS = 32

const plain = (text: string): string => text.normalize("NFKC").toLowerCase()

const wordsOf = (query: string): ReadonlyArray<string> =>
  Array.from(new Set(plain(query.slice(0, 2000)).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []))
    // Single letters occur in every text.
    .filter((word) => !/^[a-z]$/.test(word))
    .slice(0, MAX_WORDS)

/**
 * The skills with words of the query in their name or description, best first: rare words weigh more than common ones,
 * and a word in the name three times as much. Ties stay in catalog order.
 *
 * @category accessors
 */
export const find = (skills: ReadonlyArray<LoadedSkill>, query: string, limit: number): ReadonlyArray<LoadedSkill> => {
  const words = wordsOf(query)
  const texts = skills.map(({ file }) => ({ name: plain(file.name), description: plain(file.description) }))
  const scores = new Float64Array(skills.length)
  for (const word of words) {
    const hits = texts.map(({ description, name }) => (name.includes(word) ? 3 : description.includes(word) ? 1 : 0))
    const having = hits.filter((hit) => hit > 0).length
    const weight = Math.log(1 + skills.length / Math.max(1, having))
    for (const [at, hit] of hits.entries()) scores[at] = (scores[at] as number) + hit * weight
  }
  return skills
    .map((skill, at) => ({ skill, score: scores[at] as number }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ skill }) => skill)
}
