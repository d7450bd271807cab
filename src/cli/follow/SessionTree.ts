/**
 * The branches of a conversation as lines.
 *
 * @private
 * @since 0.1.0
 */
import type * as SessionModels from "../../http/api/SessionModels.js"
import * as TerminalText from "../terminal/TerminalText.js"

/** Deeper branches are not indented further. */
const DEEPEST = 12

/**
 * One line a session, branches below the one that they come from; `here` is marked.
 *
 * @category conversions
 */
export const lines = (tree: SessionModels.Tree, here: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const waiting: Array<readonly [SessionModels.Tree["root"], number]> = [[tree.root, 0]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [branch, depth] = next
    const { branchName, children, sessionId } = branch
    const name = branchName === undefined ? "" : `  ${TerminalText.line(branchName, 80)}`
    found.push(
      `${sessionId === here ? "*" : " "} ${"  ".repeat(Math.min(depth, DEEPEST))}${TerminalText.line(sessionId, 256)}${name}`
    )
    for (const child of children.toReversed()) waiting.push([child, depth + 1])
  }
  return tree.isComplete ? found : [...found, "  There are more branches than were read."]
}
