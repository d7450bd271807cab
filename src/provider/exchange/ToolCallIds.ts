/**
 * Gives every tool call of one answer a unique id, whatever ids the server gave: results are matched by them, and
 * providers reject a history in which one occurs twice.
 *
 * @private
 * @since 0.1.0
 */
import type { LlmPart } from "../../llm/model/LlmClient.js"

/**
 * Rewrites the parts of one answer, in order. The first call with an id keeps it. Calls that the provider ran itself
 * keep theirs.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (): ((part: LlmPart) => LlmPart) => {
  const used = new Set<string>()
  /** Calls whose parameters have begun, by the server's id. */
  const begun = new Map<string, Array<string>>()
  const unique = (id: string): string => {
    let own = id
    for (let n = 1; used.has(own); n++) own = `${id}_${n}`
    used.add(own)
    return own
  }
  const renamed = <Part extends { readonly id: string }>(part: Part, id: string): Part =>
    id === part.id ? part : { ...part, id }

  return (part) => {
    switch (part.type) {
      case "tool-params-start": {
        if (part.providerExecuted === true) return part
        const id = unique(part.id)
        begun.set(part.id, [...(begun.get(part.id) ?? []), id])
        return renamed(part, id)
      }
      case "tool-params-delta":
      case "tool-params-end":
        return renamed(part, begun.get(part.id)?.at(-1) ?? part.id)
      case "tool-call":
        return part.providerExecuted === true ? part : renamed(part, begun.get(part.id)?.shift() ?? unique(part.id))
      default:
        return part
    }
  }
}
