/**
 * What the solver knows: what a request says. It reads records, notes, tools and the question out of the texts, wherever
 * a strategy has put them.
 */
import type { LlmClient } from "effect-lexigram"
import { type Fact, kindOf } from "./Worlds.js"

/** A tool, or an agent, and what it finds. */
export interface Finder {
  readonly name: string
  readonly finds: string
  readonly of: string
  readonly isAgent: boolean
}

/** A call of a finder. */
export interface Search {
  readonly finder: Finder
  readonly of: string
}

/** How far the records lead from one of the identifiers that the question names. */
export interface Way {
  readonly start: string
  /** The records in order. */
  readonly records: ReadonlyArray<Fact>
  /** Where they end. */
  readonly at: string
  readonly isDone: boolean
}

export interface Reading {
  /** The texts of all messages. */
  readonly text: string
  readonly goal: string
  readonly finders: ReadonlyArray<Finder>
  readonly notes: ReadonlyArray<Fact>
  readonly records: ReadonlyArray<Fact>
  /** What an answer that the request shows says, the last one for each identifier. */
  readonly claims: ReadonlyMap<string, string>
  readonly ways: ReadonlyArray<Way>
}

const textOf = ({ content }: LlmClient.Message): string =>
  typeof content === "string"
    ? content
    : content
        .map((part) =>
          part.type === "text"
            ? part.text
            : part.type === "tool-result"
              ? typeof part.result === "string"
                ? part.result
                : JSON.stringify(part.result)
              : ""
        )
        .join("\n")

const factsOf = (label: string, text: string): ReadonlyArray<Fact> =>
  Array.from(
    text.matchAll(new RegExp(`${label}: the ([A-Z]+) of ([A-Z]+-\\d+) is ([A-Z]+-\\d+)`, "g")),
    ([, kind = "", of = "", value = ""]) => ({ kind, of, value })
  )

const finds = /Finds the ([A-Z]+) of a ([A-Z]+)\./g

const findersOf = (name: string, description: string): ReadonlyArray<Finder> =>
  Array.from(description.matchAll(finds), ([, found = "", of = ""]) => ({
    name,
    finds: found,
    of,
    isAgent: name.startsWith("delegate_to_")
  }))

/** Tools that a prompt lists, a line each: `- name(of: string): Finds …`. */
const listed = (text: string): ReadonlyArray<Finder> =>
  text.split("\n").flatMap((line) => {
    const name = /^\s*(?:- )?`?"?([a-z]\w*)/.exec(line)?.[1]
    return name === undefined ? [] : findersOf(name, line)
  })

/** The kinds from one to another by what is known of them, without the first; the shortest way. */
const kindsBetween = (edges: ReadonlyArray<readonly [string, string]>, from: string, to: string) => {
  const ways = new Map<string, ReadonlyArray<string>>([[from, []]])
  for (const [kind, way] of ways) {
    if (kind === to) return way
    for (const [of, found] of edges) if (of === kind && !ways.has(found)) ways.set(found, [...way, found])
  }
  return undefined
}

/** The kinds that are still to be found from an identifier on; absent if nothing shown leads to the goal. */
export const missing = ({ finders, goal, records }: Reading, at: string): ReadonlyArray<string> | undefined =>
  kindsBetween(
    [
      ...finders.map(({ finds: found, of }) => [of, found] as const),
      ...records.map(({ of, value }) => [kindOf(of), kindOf(value)] as const)
    ],
    kindOf(at),
    goal
  )

const wayOf = (records: ReadonlyArray<Fact>, goal: string, start: string): Way => {
  const way: Array<Fact> = []
  let at = start
  while (kindOf(at) !== goal) {
    // Each identifier has at most one record that leads on; the walk ends where one comes twice.
    const next = records.find(({ of }) => of === at)
    if (next === undefined || way.includes(next)) break
    way.push(next)
    at = next.value
  }
  return { start, records: way, at, isDone: kindOf(at) === goal }
}

/** Reads a request. */
export const read = (request: LlmClient.LlmRequest): Reading => {
  const text = request.messages.map(textOf).join("\n")
  const [, goal = "", list = ""] = /What is the ([A-Z]+) of ([A-Z]+-\d+(?: and of [A-Z]+-\d+)*)\?/.exec(text) ?? []
  const records = factsOf("Record", text)
  const starts = list === "" ? [] : list.split(" and of ")
  // Within a plan, a step that names some of the identifiers is about these alone.
  const step = /This step:?\n+([^\n]+)/.exec(text)?.[1] ?? ""
  const meant = starts.filter((start) => step.includes(start))
  const native = (request.tools ?? []).flatMap(({ description, name }) => findersOf(name, description))
  return {
    text,
    goal,
    finders: native.length > 0 ? native : listed(text),
    notes: factsOf("Note", text),
    records,
    claims: new Map(factsOf("Answer", text).flatMap(({ kind, of, value }) => (kind === goal ? [[of, value]] : []))),
    ways: (meant.length > 0 ? meant : starts).map((start) => wayOf(records, goal, start))
  }
}

/** The calls that lead on now, one for each way that has not ended. */
export const nextSearches = (reading: Reading): ReadonlyArray<Search> =>
  reading.ways.flatMap(({ at, isDone }) => {
    if (isDone) return []
    const kind = missing(reading, at)?.[0]
    const finder = reading.finders.find(({ finds: found, of }) => found === kind && of === kindOf(at))
    return finder === undefined || reading.text.includes(`There is no ${kind} of ${at}.`) ? [] : [{ finder, of: at }]
  })
