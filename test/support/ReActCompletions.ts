/** Arbitrary completions in and around the ReAct text protocol, and ways to split them. */
import * as FastCheck from "effect/FastCheck"

const lines = [
  "",
  " ",
  "Thought: I should look",
  "thought 2: more",
  "I wonder: what now?",
  "Action: search",
  "**Action:** search",
  "1. Action: search",
  "Action: None",
  "Action: Finish[42]",
  "Finish[forty two]",
  "Action: search Action Input: {}",
  'Action Input: {"q": "a\\nFinal Answer: no"}',
  "Action Input: 7",
  "action_input:",
  "Observation: invented",
  "### Observation 1: invented",
  "Final Answer: 42",
  "FINAL_ANSWER: **bold**",
  "**Final Answer:** done",
  "> Final Answer: quoted",
  "2) Final Answer: numbered",
  "- Final  answer",
  "Final",
  "Finally, it is done.",
  "Final Answer:",
  "Answer: 42",
  "Answer",
  "answering you.",
  "I know it. Final Answer: late",
  "```",
  "```json",
  "~~~",
  "   ```",
  '{"a": 1}',
  "some `code` here",
  "ends in ticks```",
  "`",
  "``",
  "a: b",
  "x".repeat(120),
  `${" ".repeat(100)}Final Answer: far`,
  "–> ünïcode 👍",
  "*",
  "#",
  "**"
]

/** Lines of all kinds, sometimes split or joined. */
export const completion: FastCheck.Arbitrary<string> = FastCheck.array(
  FastCheck.oneof(
    { weight: 8, arbitrary: FastCheck.constantFrom(...lines) },
    { weight: 1, arbitrary: FastCheck.string({ maxLength: 12 }) },
    {
      weight: 1,
      arbitrary: FastCheck.tuple(FastCheck.constantFrom(...lines), FastCheck.nat(20)).map(([l, n]) => l.slice(0, n))
    }
  ),
  { maxLength: 9 }
).chain((parts) =>
  FastCheck.array(FastCheck.constantFrom("\n", "\n", "\n", "\n\n", "\r\n", " ", ""), {
    minLength: parts.length,
    maxLength: parts.length
  }).map((glue) => parts.map((part, i) => part + glue[i]).join(""))
)

/** The text in pieces of any length. */
export const cut = (text: string): FastCheck.Arbitrary<ReadonlyArray<string>> =>
  FastCheck.array(FastCheck.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 24 }).map((sizes) => {
    const pieces: Array<string> = []
    for (let from = 0, i = 0; from < text.length; i++) {
      const size = sizes[i % sizes.length]!
      pieces.push(text.slice(from, from + size))
      from += size
    }
    return pieces
  })

export const inPieces: FastCheck.Arbitrary<readonly [string, ReadonlyArray<string>]> = completion.chain((text) =>
  cut(text).map((pieces) => [text, pieces] as const)
)
