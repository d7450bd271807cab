/**
 * Assembles a context within a token budget from the results of the memory tiers.
 *
 * @private
 * @since 0.1.0
 */
import type { Message } from "../../llm/model/LlmClient.js"
import type * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as MemoryText from "../entry/MemoryText.js"
import type * as TokenCosts from "../entry/TokenCosts.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import type { Fact } from "../facts/Fact.js"
import * as Procedure from "../procedural/Procedure.js"
import * as TextRelevance from "../search/TextRelevance.js"
import type * as MemoryNamespace from "../tools/MemoryNamespace.js"
import * as SectionFill from "./SectionFill.js"
import * as TokenBudgetAllocator from "./TokenBudgetAllocator.js"

/**
 * Candidates for the context.
 *
 * @category models
 */
export interface Found {
  /** In any order. */
  readonly recent: ReadonlyArray<MemoryEntry>
  /** Best first. */
  readonly recalled: ReadonlyArray<MemoryEntry>
  /** Best first. */
  readonly facts: ReadonlyArray<Fact>
  /** Best first. */
  readonly procedures: ReadonlyArray<Procedure.Procedure>
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description: string }>
}

/**
 * @category constants
 */
export const nothing: Found = { recent: [], recalled: [], facts: [], procedures: [], tools: [] }

/**
 * @category models
 */
export interface Options {
  readonly query: string
  readonly tokenBudget: number
  readonly systemPrompt: string | undefined
  readonly shares: TokenBudgetAllocator.Shares
  readonly maxRecentTurns: number
  readonly maxRecalled: number
  readonly inherits?: ReadonlyArray<MemoryNamespace.Inherited> | undefined
  readonly counter: TokenCounter.Service
  readonly costs: TokenCosts.TokenCosts
}

/**
 * @category models
 */
export interface Context {
  readonly entries: ReadonlyArray<MemoryEntry>
  readonly facts: ReadonlyArray<string>
  readonly tools: ReadonlyArray<string>
  readonly namespaces?: { readonly [ownerId: string]: string }
  readonly inheritedFacts?: ReadonlyArray<MemoryText.InheritedFact>
  readonly tokens: number
  readonly report: ReadonlyArray<{
    readonly source: TokenBudgetAllocator.Section
    readonly tokenBudget: number
    readonly tokens: number
    readonly taken: ReadonlyArray<string>
    readonly left: ReadonlyArray<string>
  }>
}

type Item =
  | { readonly _tag: "Entries"; readonly entries: ReadonlyArray<MemoryEntry> }
  | { readonly _tag: "Fact"; readonly text: string; readonly fact: Fact; readonly label: string | undefined }
  | { readonly _tag: "Tool"; readonly text: string; readonly place: number }

type Candidate = SectionFill.Candidate<Item>

/**
 * A fact as a text.
 *
 * @category conversions
 */
const factText = ({ object, predicate, subject }: Fact): string => `${subject} ${predicate} ${object}`

interface Conversation {
  readonly recent: ReadonlyArray<Candidate>
  readonly recalled: ReadonlyArray<Candidate>
  /** Items that cannot be used alone, by source. */
  readonly brokenRecent: ReadonlyArray<string>
  readonly brokenRecalled: ReadonlyArray<string>
}

/**
 * Identifies an entry among those of several owners.
 *
 * @category getters
 */
export const keyOf = ({ id, ownerId }: Pick<MemoryEntry, "id" | "ownerId">): string => `${id}\u001f${ownerId}`

const labelsOf = ({ inherits = [] }: Pick<Options, "inherits">): ReadonlyMap<string, string> =>
  new Map(inherits.map(({ label, ownerId }) => [ownerId, label]))

const conversation = ({ recalled, recent }: Found, options: Options): Conversation => {
  const { costs, counter } = options
  const labels = labelsOf(options)
  const pool = new Map<string, MemoryEntry>()
  for (const entry of recalled) pool.set(keyOf(entry), entry)
  for (const entry of recent) pool.set(keyOf(entry), entry)
  const isRecent = new Set(recent.map(keyOf))
  const rank = new Map(recalled.map((entry, index) => [keyOf(entry), index] as const))
  const broken: { readonly recent: Array<string>; readonly recalled: Array<MemoryEntry> } = { recent: [], recalled: [] }
  const turns: Array<Candidate> = []
  const found: Array<readonly [rank: number, recent: boolean, candidate: Candidate]> = []
  for (const unit of ToolPairs.units(Array.from(pool.values()).sort(ToolPairs.chronological))) {
    const { entries } = unit
    const keys = entries.map(keyOf)
    const wholeRecent = keys.every((key) => isRecent.has(key))
    if (unit.broken) {
      for (const entry of entries) {
        if (isRecent.has(keyOf(entry))) broken.recent.push(entry.id)
        else broken.recalled.push(entry)
      }
      continue
    }
    const candidate: Candidate = {
      ids: entries.map(({ id }) => id),
      keys: keys.map((key) => `entry:${key}`),
      value: { _tag: "Entries", entries },
      cost: () => {
        let total = 0
        for (const entry of entries) {
          const label = labels.get(entry.ownerId)
          const key = JSON.stringify([entry.role, entry.ownerId, entry.id, label])
          total += costs.get(key, entry.content, () => counter.count(MemoryText.line.entry(entry, label)))
        }
        return total
      }
    }
    if (wholeRecent) turns.push(candidate)
    const best = Math.min(...keys.map((key) => rank.get(key) ?? Number.POSITIVE_INFINITY))
    if (best !== Number.POSITIVE_INFINITY) found.push([best, wholeRecent, candidate])
  }
  let others = 0
  return {
    recent: newest(turns, options.maxRecentTurns),
    recalled: found
      .sort(([a], [b]) => a - b)
      .filter(([, recent]) => recent || others++ < options.maxRecalled)
      .map(([, , candidate]) => candidate),
    brokenRecent: broken.recent.reverse(),
    brokenRecalled: broken.recalled
      .sort((a, b) => (rank.get(keyOf(a)) ?? 0) - (rank.get(keyOf(b)) ?? 0))
      .map(({ id }) => id)
  }
}

/** The newest first, with at most this many entries in total. */
const newest = (turns: ReadonlyArray<Candidate>, most: number): ReadonlyArray<Candidate> => {
  const taken: Array<Candidate> = []
  let count = 0
  for (let index = turns.length - 1; index >= 0; index--) {
    const candidate = turns[index] as Candidate
    count += candidate.ids.length
    if (count > most && taken.length > 0) break
    taken.push(candidate)
  }
  return taken
}

const facts = (found: Found, options: Options): ReadonlyArray<Candidate> => {
  const { costs, counter } = options
  const labels = labelsOf(options)
  return found.facts.map((fact) => {
    const text = factText(fact)
    const label = labels.get(fact.ownerId)
    const key = label === undefined ? `fact:${text}` : `fact:${JSON.stringify([text, label])}`
    return {
      ids: [fact.id],
      // Two facts with the same text are one.
      keys: [`fact:${text}`],
      value: { _tag: "Fact", text, fact, label },
      cost: () => costs.get(key, text, () => counter.count(MemoryText.line.fact(text, label)))
    }
  })
}

const tools = (found: Found, { costs, counter, query }: Options): ReadonlyArray<Candidate> => {
  const candidate = (id: string, text: string, place: number): Candidate => ({
    ids: [id],
    keys: [`tool:${text}`],
    value: { _tag: "Tool", text, place },
    cost: () => costs.get(`tool:${text}`, text, () => counter.count(MemoryText.line.tool(text)))
  })
  // Procedures in the order in which they were learned, tools in the given order: an item that is included again keeps
  // its place.
  const learned = found.procedures.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  const places = new Map(learned.map(({ id }, place) => [id, place] as const))
  const texts = found.tools.map(({ description, name }) => `${name}: ${description}`)
  const relevance = TextRelevance.scores(query, texts)
  return [
    ...found.procedures.map((one) => candidate(one.id, Procedure.toText(one), places.get(one.id) ?? 0)),
    ...texts
      .map((text, index) => ({
        index,
        candidate: candidate(found.tools[index]?.name ?? "", text, learned.length + index)
      }))
      .sort((a, b) => (relevance[b.index] ?? 0) - (relevance[a.index] ?? 0))
      .map(({ candidate }) => candidate)
  ]
}

/** The order of the assembly: by time, by when a fact was recorded, by the place of a tool. */
const inOrder = (taken: ReadonlyArray<Candidate>) => {
  const items = taken.map(({ ids, value }) => ({ id: ids[0] ?? "", value }))
  return {
    entries: items
      .flatMap(({ value }) => (value._tag === "Entries" ? value.entries : []))
      .sort(ToolPairs.chronological),
    facts: items
      .flatMap(({ id, value }) => (value._tag === "Fact" ? [{ ...value, id, at: value.fact.recordedAt }] : []))
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1)),
    tools: items
      .flatMap(({ id, value }) => (value._tag === "Tool" ? [{ id, text: value.text, place: value.place }] : []))
      .sort((a, b) => a.place - b.place)
  }
}

const contents = (
  served: ReadonlyArray<SectionFill.Served<Item>>,
  labels: ReadonlyMap<string, string>
): Omit<Context, "tokens" | "report"> => {
  const { entries, facts, tools } = inOrder(served.flatMap(({ taken }) => taken))
  const own = {
    entries,
    facts: facts.flatMap(({ label, text }) => (label === undefined ? [text] : [])),
    tools: tools.map(({ text }) => text)
  }
  if (labels.size === 0) return own
  return {
    ...own,
    namespaces: Object.fromEntries(
      entries.flatMap(({ ownerId }) => {
        const label = labels.get(ownerId)
        return label === undefined ? [] : [[ownerId, label] as const]
      })
    ),
    inheritedFacts: facts.flatMap(({ label, text }) => (label === undefined ? [] : [{ namespace: label, fact: text }]))
  }
}

const idsOf = (taken: ReadonlyArray<Candidate>): ReadonlyArray<string> => {
  const { entries, facts, tools } = inOrder(taken)
  return [...entries, ...facts, ...tools].map(({ id }) => id)
}

/**
 * The cost of the system prompt, and what is left for memory after the frame of the message.
 *
 * @category models
 */
export interface Room {
  readonly budget: number
  readonly system: ReadonlyArray<Message>
  readonly systemTokens: number
  readonly frameTokens: number
  readonly opening: number
}

/**
 * @category constructors
 */
export const roomOf = (options: Pick<Options, "tokenBudget" | "systemPrompt" | "counter">): Room => {
  const { counter, systemPrompt } = options
  const budget = Number.isNaN(options.tokenBudget) ? 0 : Math.max(0, options.tokenBudget)
  const system: ReadonlyArray<Message> = systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]
  const opening = counter.countMessages([])
  return {
    budget,
    system,
    opening,
    systemTokens: system.length === 0 ? 0 : counter.countMessages(system) - opening,
    frameTokens: counter.countMessages([{ role: "user", content: MemoryText.heading }]) - opening
  }
}

/**
 * Whether there is room for at least one item.
 *
 * @category guards
 */
export const hasRoom = (room: Room): boolean => room.systemTokens + room.frameTokens < room.budget

/**
 * Fills the sections and counts what is sent. If the tokenizer counts more for the whole than for its lines, it retries
 * with less.
 *
 * @category combinators
 */
export const assemble = (found: Found, room: Room, options: Options): Context => {
  const { counter, shares } = options
  const { budget, systemTokens } = room
  const labels = labelsOf(options)
  // A small budget keeps for the system prompt what that has, or a third.
  const systemPromptTokens = Math.min(shares.systemPromptTokens, Math.max(systemTokens, budget / 3))
  const allocation = TokenBudgetAllocator.allocate(budget, { ...shares, systemPromptTokens })
  const said = conversation(found, options)
  const sources = (
    [
      { section: "recent_turns", candidates: said.recent, contiguous: true },
      { section: "episodic", candidates: said.recalled, contiguous: false },
      { section: "semantic", candidates: facts(found, options), contiguous: false },
      { section: "tool_descriptions", candidates: tools(found, options), contiguous: false }
    ] as const
  ).filter(({ section }) => isServed(section, shares))
  const available = budget - systemTokens - room.frameTokens
  const carried = available - sources.reduce((sum, { section }) => sum + allocation[section], 0)
  const count = (context: MemoryText.Remembered): number => {
    const messages = MemoryText.messages(context)
    return messages.length === 0 ? systemTokens : counter.countMessages([...room.system, ...messages]) - room.opening
  }
  let limit = hasRoom(room) ? available : 0
  for (let attempt = 0; limit > 0; attempt++) {
    const served = SectionFill.fill(sources, allocation, carried - (available - limit), limit)
    const context = contents(served, labels)
    const tokens = count(context)
    if (tokens <= budget) return { ...context, tokens, report: report(served, said, room, allocation) }
    const excess = tokens - budget
    limit = attempt < 4 && excess >= 1 ? limit - excess : Math.floor(limit / 2)
  }
  const untouched = sources.map(
    ({ candidates, section }): SectionFill.Served<Item> => ({
      section,
      tokenBudget: 0,
      tokens: 0,
      taken: [],
      left: candidates
    })
  )
  return {
    entries: [],
    facts: [],
    tools: [],
    tokens: systemTokens <= budget ? systemTokens : 0,
    report: report(untouched, said, room, allocation)
  }
}

/**
 * A section with a fraction of 0 is off: it is not queried and gets no leftover tokens.
 *
 * @category guards
 */
export const isServed = (
  section: Exclude<TokenBudgetAllocator.Section, "system_prompt">,
  shares: TokenBudgetAllocator.Shares
): boolean =>
  (section === "recent_turns"
    ? shares.recentTurnsFraction
    : section === "episodic"
      ? shares.episodicFraction
      : section === "semantic"
        ? shares.semanticFraction
        : shares.toolDescriptionsFraction) > 0

const report = (
  served: ReadonlyArray<SectionFill.Served<Item>>,
  said: Conversation,
  room: Room,
  allocation: TokenBudgetAllocator.Allocation
): Context["report"] => {
  const fits = room.systemTokens <= room.budget
  const given = room.system.length > 0
  const systemPrompt = {
    source: "system_prompt",
    tokenBudget: fits ? Math.max(allocation.system_prompt, room.systemTokens) : room.budget,
    tokens: fits ? room.systemTokens : 0,
    taken: given && fits ? ["system_prompt"] : [],
    left: given && !fits ? ["system_prompt"] : []
  } as const
  return [
    systemPrompt,
    ...served.map(({ left, section, taken, tokenBudget, tokens }) => ({
      source: section,
      tokenBudget,
      tokens,
      taken: idsOf(taken),
      left: [
        ...left.flatMap(({ ids }) => ids),
        ...(section === "recent_turns" ? said.brokenRecent : section === "episodic" ? said.brokenRecalled : [])
      ]
    }))
  ]
}
