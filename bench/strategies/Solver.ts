/**
 * A model that answers the prompts of every strategy by rules, from what the prompt says and nothing else. It makes
 * mistakes at rates that are given: it takes a wrong tool, writes down another identifier than it found, and misjudges.
 */
import type { LlmClient } from "effect-lexigram"
import type * as TestModel from "../../src/testing/TestModel.js"
import { keyOf, stepOf } from "../../test/strategy/EveryStrategyForms.js"
import * as Noise from "./Noise.js"
import * as Reading from "./Reading.js"
import { type Fact, kindOf } from "./Worlds.js"

/** How often the solver errs, from 0 to 1. */
export interface Rates {
  /** A call, or a step of a plan, takes another tool than the one that leads on. */
  readonly slip: number
  /** An answer gives a remembered or invented identifier instead of the one found. */
  readonly lapse: number
  /** A judgement is the opposite of what the records say. */
  readonly blur: number
}

interface Asked {
  readonly request: LlmClient.LlmRequest
  readonly reading: Reading.Reading
  readonly noise: Noise.Noise
  readonly rates: Rates
}

type Reply = TestModel.Turn | string

const record = ({ kind, of, value }: Fact): string => `Record: the ${kind} of ${of} is ${value}.`

const sentences = (lines: ReadonlyArray<string>): string => lines.join(" ")

/** The answer, with the records that it follows from. */
const answer = ({ noise, rates, reading }: Asked): string =>
  sentences(
    reading.ways.map(({ at, isDone, records, start }) => {
      const { claims, goal, notes } = reading
      const says = (value: string) => `Answer: the ${goal} of ${start} is ${value}.`
      if (noise.happens(rates.lapse)) {
        return says(notes.find(({ of }) => of === start)?.value ?? `${goal}-${Math.floor(100 + noise.next() * 900)}`)
      }
      if (isDone) return sentences([says(at), ...records.map(record)])
      const claimed = claims.get(start)
      return claimed === undefined
        ? sentences([`The ${goal} of ${start} is not known.`, ...records.map(record)])
        : says(claimed)
    })
  )

/** The finder, or another one by mistake. */
const slipped = ({ noise, rates, reading }: Asked, finder: Reading.Finder): Reading.Finder =>
  noise.happens(rates.slip) ? (noise.pick(reading.finders.filter((one) => one !== finder)) ?? finder) : finder

const callOf = ({ finds, isAgent, name }: Reading.Finder, of: string) => ({
  name,
  params: isAgent ? { message: `What is the ${finds} of ${of}?` } : { of }
})

/** Calls what leads on, or answers. */
const act = (asked: Asked): Reply => {
  const { noise, rates, reading, request } = asked
  if ((request.tools ?? []).length === 0 || request.toolChoice === "none") return answer(asked)
  const searches = Reading.nextSearches(reading)
  if (searches.length > 0) {
    const calls = searches.map(({ finder, of }) => callOf(slipped(asked, finder), of))
    return { text: `${calls.length} to look up.`, calls }
  }
  const stray = noise.happens(rates.slip) ? noise.pick(reading.finders) : undefined
  const start = reading.ways[0]?.start
  return stray === undefined || start === undefined || request.messages.at(-1)?.role === "tool"
    ? answer(asked)
    : { text: "I have a look.", calls: [callOf(stray, start)] }
}

interface PlanStep {
  readonly id: number
  readonly finder: Reading.Finder
  /** What the way begins with. */
  readonly start: string
  /** What the tool is called with: an identifier, or the result of an earlier step. */
  readonly of: string | number
}

/** All calls from here to the goal, in their order. */
const plan = (asked: Asked, firstId = 1): ReadonlyArray<PlanStep> => {
  const steps: Array<PlanStep> = []
  for (const { at, isDone, start } of asked.reading.ways) {
    if (isDone) continue
    let [from, of]: [string, string | number] = [kindOf(at), at]
    for (const kind of Reading.missing(asked.reading, at) ?? []) {
      const finder = asked.reading.finders.find((one) => one.finds === kind && one.of === from)
      if (finder === undefined) break
      const id = firstId + steps.length
      steps.push({ id, finder: slipped(asked, finder), start, of })
      from = kind
      of = id
    }
  }
  return steps
}

/** Whether the answer that is shown is the one that the records lead to. */
const approves = ({ noise, rates, reading: { claims, ways } }: Asked): boolean =>
  ways.every(({ at, isDone, start }) => isDone && claims.get(start) === at) !== noise.happens(rates.blur)

const why = (good: boolean): string => (good ? "The records lead to it." : "The records do not lead to it.")

/** What is known so far, for whoever goes on. */
const lesson = ({ reading: { ways } }: Asked): string =>
  sentences(["I take each identifier from its record.", ...ways.flatMap(({ records }) => records.map(record))])

const planExecute = {
  plan: (asked: Asked) => {
    const steps = plan(asked).map(({ finder, of, start }) => ({
      description: `Find the ${finder.finds} on the way from ${start}`,
      tool: finder.name,
      ...(typeof of === "string" ? { arguments: { of } } : {})
    }))
    return steps.length > 0 ? { steps } : { steps, answer: answer(asked) }
  },
  /** The identifier of the kind that the tool wants, on the way of the step; what comes closest otherwise. */
  input: ({ reading: { text, ways } }: Asked) => {
    const wanted = /"description":"A ([A-Z]+), or/.exec(text)?.[1]
    const ids = ways.slice(0, 1).flatMap(({ records, start }) => [start, ...records.map(({ value }) => value)])
    return { of: ids.find((id) => kindOf(id) === wanted) ?? ids.at(-1) ?? "" }
  }
}

const compiler = {
  plan: (asked: Asked) => {
    const ids = Array.from(asked.reading.text.matchAll(/^(\d+)\. find_/gm), ([, id]) => Number(id))
    return {
      tasks: plan(asked, Math.max(0, ...ids) + 1).map(({ finder, id, of }) => ({
        id,
        tool: finder.name,
        args: { of: typeof of === "number" ? `$${of}` : of }
      }))
    }
  },
  join: (asked: Asked) => {
    const { text, ways } = asked.reading
    const open = ways.filter(({ isDone }) => !isDone)
    const isLast = /may be asked for: (?:0|none)/i.test(text)
    return open.length === 0 || isLast
      ? { thought: "That is all.", action: "finish", answer: answer(asked) }
      : {
          thought: "Something is missing.",
          action: "replan",
          feedback: `Go on from ${open.map((way) => way.at).join(", ")}`
        }
  }
}

const rewooPlan = (asked: Asked) => {
  const steps = plan(asked).map(({ finder, id, of, start }) => ({
    plan: `Find the ${finder.finds} on the way from ${start}.`,
    variable: `#E${id}`,
    tool: finder.name,
    input: typeof of === "number" ? `#E${of}` : of
  }))
  if (steps.length > 0) return { steps }
  const { goal, notes, records, ways } = asked.reading
  const question = `What is the ${goal} of ${ways.map(({ start }) => start).join(" and of ")}?`
  const told = [
    ...records.map(record),
    ...notes.map(({ kind, of, value }) => `Note: the ${kind} of ${of} is ${value}.`)
  ]
  return {
    steps: [{ plan: "Read the records.", variable: "#E1", tool: "LLM", input: sentences([question, ...told]) }]
  }
}

const lats = {
  expand: (asked: Asked) => {
    const count = Number(/Number of actions to propose: (\d+)/.exec(asked.reading.text)?.[1] ?? 1)
    const isLast = asked.reading.text.includes("One step is left: it has to be")
    const searches = isLast ? [] : Reading.nextSearches(asked.reading)
    const calls = searches.map(({ finder, of }) => ({
      thought: "This leads on.",
      tool: slipped(asked, finder).name,
      arguments: { of }
    }))
    const all = calls.length > 0 ? calls : [{ thought: "That is all.", answer: answer(asked) }]
    return { expansions: all.slice(0, count) }
  },
  judge: (asked: Asked) => {
    const { claims, ways } = asked.reading
    if (claims.size > 0) {
      const good = approves(asked)
      return { reason: why(good), score: good ? 1 : 0.2 }
    }
    const found = ways.reduce((total, { records }) => total + records.length, 0)
    const left = ways.reduce((total, { at }) => total + (Reading.missing(asked.reading, at) ?? [at]).length, 0)
    const state = asked.reading.text.split("# Current state").at(-1) ?? ""
    const led = /Error:|There is no|ask again/.test(state) ? 0.5 : 0.9
    return { reason: `${found} found, ${left} missing.`, score: (led * found) / Math.max(1, found + left) }
  }
}

/** Asks about what the records lead to, again if nothing was found. */
const storm = {
  question: ({ reading: { ways } }: Asked) => {
    const open = ways.filter(({ isDone }) => !isDone).map(({ at }) => at)
    return { done: open.length === 0, question: `What is known of ${open.join(" and of ")}?` }
  },
  queries: ({ reading: { text } }: Asked) => {
    const question = Array.from(text.matchAll(/^Question: (.*)$/gm)).at(-1)?.[1] ?? ""
    return { queries: Array.from(new Set(question.match(/[A-Z]+-\d+/g))) }
  },
  /** The records of the sources, with the numbers of these. */
  quote: ({ reading: { text } }: Asked) => {
    const cited = Array.from(text.matchAll(/<source id="(\d+)">([\s\S]*?)<\/source>/g)).flatMap(([, id, source = ""]) =>
      Array.from(source.matchAll(/Record: [^.]*/g), ([found]) => `${found} [${id}].`)
    )
    return cited.length === 0 ? "The sources say nothing about it." : sentences(cited)
  },
  /** The answer, which cites all sources with records, or the first one where there are none. */
  section: (asked: Asked) => {
    const cited = new Set(Array.from(storm.quote(asked).matchAll(/\[\d+\]/g), ([mark]) => mark))
    const first = /<source id="(\d+)">/.exec(asked.reading.text)?.[1]
    if (cited.size === 0 && first !== undefined) cited.add(`[${first}]`)
    return `${answer(asked).replace(/\.$/, "")} ${Array.from(cited).join("")}.`
  },
  article: ({ reading: { text } }: Asked) => /<article>\n([\s\S]*?)\n<\/article>/.exec(text)?.[1] ?? ""
}

const review = (asked: Asked) => {
  const open = asked.reading.ways.filter(({ isDone }) => !isDone)
  const enough = (open.length === 0) !== asked.noise.happens(asked.rates.blur)
  return {
    verdict: enough ? "done" : "more",
    reason: enough ? "All is there." : "Something is missing.",
    instructions: enough ? "" : `Go on from ${open.map(({ at }) => at).join(" and ")}.`
  }
}

/** The first strategy of the list if the question brings all that is needed, else one that decides step by step. */
const classify = ({ reading: { text, ways } }: Asked) => {
  const listed = Array.from(text.matchAll(/^- "?([\w-]+)"?: (.*)$/gm), ([, name = "", about = ""]) => ({ name, about }))
  const wanted = ways.every(({ isDone }) => isDone)
    ? listed[0]
    : listed.find(({ about }) => about.includes("build on each other"))
  return { strategy: wanted?.name ?? "", reason: "It fits." }
}

/** The reply to each prompt; a prompt that is not here is answered by `act`. */
const replies: { readonly [key: string]: (asked: Asked) => Reply | object } = {
  "ReflectionAgent/Reflect": (asked) => {
    const good = approves(asked)
    return { needs_refinement: !good, score: good ? 10 : 2, points: good ? [] : [why(good)] }
  },
  "PlanAndSolveAgent/PlanStep": ({ reading: { goal, ways } }) => ({
    variables: ways.map(({ start }, index) => `given ${index + 1} = ${start}`),
    steps: ways.map(({ start }) => `Find the ${goal} of ${start}`)
  }),
  "PlanExecuteAgent/Plan": planExecute.plan,
  "PlanExecuteAgent/Replan": planExecute.plan,
  "PlanExecuteAgent/ToolInput": planExecute.input,
  "PlanExecuteAgent/Reason": (asked) => ({ thought: "I read the records.", status: "done", result: answer(asked) }),
  "ReflexionAgent/Evaluate": (asked) => {
    const success = approves(asked)
    return { success, score: success ? 1 : 0.2, reason: why(success) }
  },
  "ReflexionAgent/PlanWithMemory": () => "1. Follow the records.",
  "ReflexionAgent/ReflectOnTrial": lesson,
  "LLMCompilerAgent/PlanGraph": compiler.plan,
  "LLMCompilerAgent/Join": compiler.join,
  "REWOOAgent/WorkerPlan": rewooPlan,
  "LATSAgent/Expand": lats.expand,
  "LATSAgent/Evaluate": lats.judge,
  "LATSAgent/Reflect": () => "I take each identifier from its record.",
  "SelfDiscoveryAgent/DiscoverModules": () => ({ selected: ["break_down_problem", "critical_analysis"] }),
  "SelfDiscoveryAgent/AdaptModules": ({ reading: { text } }) => ({
    modules: [{ name: /## Module: (\w+)/.exec(text)?.[1] ?? "", strategy: "Follow the records from one to the next." }]
  }),
  "SelfDiscoveryAgent/PlanReasoning": () => ({
    steps: ["Follow the records to what is asked for.", "Check each identifier against its record."]
  }),
  "STORMAgent/GenerateOutline": () => ({ sections: [{ title: "Findings", subsections: [] }] }),
  "STORMAgent/RefineOutline": () => ({ sections: [{ title: "Findings", subsections: [] }] }),
  "STORMAgent/RelatedTopics": ({ reading: { goal } }) => ({ topics: [`Registers with a ${goal}`] }),
  "STORMAgent/GeneratePerspectives": ({ reading: { goal } }) => ({
    perspectives: [{ name: "Registrar", description: `Where a ${goal} is registered` }]
  }),
  "STORMAgent/GenerateQuestions": storm.question,
  "STORMAgent/GenerateQueries": storm.queries,
  "STORMAgent/AnswerQuestion": storm.quote,
  "STORMAgent/SynthesizeSection": storm.section,
  "STORMAgent/CompileReport": storm.article,
  "SupervisorAgent/Review": review,
  "AdaptiveAgent/Classify": classify
}

const keys = new Map<string, string>()

/** The prompt that a request holds, by its system message; `""` for none of the library. */
const promptOf = (request: LlmClient.LlmRequest): string => {
  const first = request.messages[0]
  const system = first?.role === "system" ? first.content : ""
  const known = keys.get(system)
  if (known !== undefined) return known
  const step = stepOf(request)
  const key = step === undefined ? "" : keyOf(step)
  keys.set(system, key)
  return key
}

const tokens = (text: string): number => Math.ceil(text.length / 4)

/** A solver of one run. A prompt that comes again is answered with other mistakes. */
export const make = (rates: Rates, seed: number): ((request: LlmClient.LlmRequest) => TestModel.Turn) => {
  const asked = new Map<string, number>()
  return (request) => {
    const key = promptOf(request)
    const reading = Reading.read(request)
    const text = `${seed}\n${key}\n${reading.text}`
    const times = asked.get(text) ?? 0
    asked.set(text, times + 1)
    const noise = Noise.make(`${times}\n${text}`)
    const reply = (replies[key] ?? act)({ request, reading, noise, rates })
    const turn: TestModel.Turn =
      typeof reply === "string"
        ? { text: reply }
        : "calls" in reply || "text" in reply
          ? reply
          : { text: JSON.stringify(reply) }
    const inputTokens = tokens(reading.text) + tokens(JSON.stringify(request.tools ?? []))
    const outputTokens = tokens(String(turn.text ?? "")) + tokens(JSON.stringify(turn.calls ?? []))
    return { ...turn, usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } }
  }
}
