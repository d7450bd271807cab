/** What a model call was shown, as far as the events of its run have it. */
import { formatJson } from "../lib/format.js"
import type { Item, ModelItem, RunFold } from "./fold.js"

export interface Shown {
  /** The number of the event that has it. */
  readonly seq: number
  readonly who: "user" | "assistant" | "call" | "tool" | "check"
  readonly title: string
  readonly text: string
}

const ofItem = (item: Item, before: number): ReadonlyArray<Shown> => {
  const { seq } = item
  if (item.kind === "model") {
    const title = item.isRetracted ? "Answer, taken back" : "Answer"
    return item.text === "" ? [] : [{ seq, who: "assistant", title, text: item.text }]
  }
  if (item.kind === "tool") {
    const { name, params, result } = item
    const call: Shown = { seq, who: "call", title: `Call of ${name}`, text: formatJson(params) }
    // A result that came later was not shown.
    if (result === undefined || result.seq >= before) return [call]
    const title = `${result.isFailure ? "Failure" : "Result"} of ${name}`
    return [call, { seq: result.seq, who: "tool", title, text: result.observation }]
  }
  if (item.kind === "question") return []
  const { event } = item
  switch (event._tag) {
    case "Started":
    case "InputChecked":
      return event.input === "" ? [] : [{ seq, who: "user", title: "Input", text: event.input }]
    case "Steered":
      return [{ seq, who: "user", title: "Message added", text: event.text }]
    case "AnswerRejected":
      return [{ seq, who: "check", title: "Answer rejected", text: event.message }]
    default:
      return []
  }
}

/** The place of an item: items are in the order of their events. */
const placeOf = (items: ReadonlyArray<Item>, { seq }: ModelItem): number => {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((items[middle]?.seq ?? 0) < seq) low = middle + 1
    else high = middle
  }
  return low
}

/** The messages before a call, in their order. It reads all items before the call: for a call that is opened. */
export const shownTo = ({ items }: RunFold, call: ModelItem): ReadonlyArray<Shown> =>
  items
    .slice(0, placeOf(items, call))
    .flatMap((item) => ofItem(item, call.seq))
    .sort((a, b) => a.seq - b.seq)
