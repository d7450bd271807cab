/** Which prompt a request holds, and the text forms of replies: so that a model that thinks in JSON can be asked for texts. */
import type { Sample } from "../../examples/strategies/sample.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import type { PromptStep } from "../../src/prompt/template/PromptStep.js"

export const textOf = (message: LlmClient.Message | undefined): string =>
  message === undefined ? "" : typeof message.content === "string" ? message.content : JSON.stringify(message.content)

export const systemOf = (request: LlmClient.LlmRequest): string =>
  request.messages[0]?.role === "system" ? textOf(request.messages[0]) : ""

const places = /\{[a-z_]+\}/

const chunks = new Map<PromptStep, ReadonlyArray<string>>()

/** What stands in a system message whatever the places are filled with. */
const chunksOf = (step: PromptStep): ReadonlyArray<string> => {
  const known = chunks.get(step)
  if (known !== undefined) return known
  const source = step.system.source.replace(/\{\{/g, "\u27ea").replace(/\}\}/g, "\u27eb")
  const made = source.split(places).map((chunk) => chunk.replace(/\u27ea/g, "{").replace(/\u27eb/g, "}"))
  chunks.set(step, made)
  return made
}

/** The prompt that a request holds, as its system message shows. */
export const stepOf = (request: LlmClient.LlmRequest): PromptStep | undefined => {
  const system = systemOf(request)
  let found: PromptStep | undefined
  let length = 0
  for (const step of DefaultPrompts.strategySteps) {
    const texts = chunksOf(step)
    const size = texts.join("").length
    if (size > length && texts.every((text) => system.includes(text))) {
      found = step
      length = size
    }
  }
  return found
}

export const keyOf = (step: PromptStep): string => `${step.pattern}/${step.name}`

export type Model = Sample["model"]

export const said = (reply: ReturnType<Model>): string => (typeof reply === "string" ? reply : String(reply.text))

const lines = (prefix: string, items: ReadonlyArray<string>): string => items.map((item) => prefix + item).join("\n")

const planText = ({ steps }: any): string =>
  `PLAN:\n${steps
    .map(
      ({ arguments: args, description, tool }: any, index: number) =>
        `${index + 1}. ${tool === undefined ? "[REASON]" : `[TOOL:${tool}]`} ${description}${args === undefined ? "" : ` ${JSON.stringify(args)}`}`
    )
    .join("\n")}`

const outlineText = ({ sections }: any): string =>
  sections
    .flatMap(({ subsections, title }: any) => [
      `SECTION: ${title}`,
      ...subsections.map((one: any) => `SUBSECTION: ${one.title ?? one}`)
    ])
    .join("\n")

/** How a reply of a form is written as text, by prompt; and the name of the form. */
const writers: Readonly<Record<string, readonly [form: string, write: (value: any) => string]>> = {
  "ReflectionAgent/Reflect": [
    "reflection",
    ({ needs_refinement, points, score }) =>
      `NEEDS_REFINEMENT: ${needs_refinement ? "yes" : "no"}\nSCORE: ${score}\nPOINTS:\n${lines("- ", points)}`
  ],
  "PlanAndSolveAgent/PlanStep": [
    "plan",
    ({ steps, variables }) =>
      `VARIABLES:\n${lines("- ", variables)}\n\nPLAN:\n${steps.map((step: string, i: number) => `${i + 1}. ${step}`).join("\n")}`
  ],
  "PlanExecuteAgent/Plan": ["plan", planText],
  "PlanExecuteAgent/Replan": ["plan", planText],
  "PlanExecuteAgent/ToolInput": ["arguments", (value) => `ACTION_INPUT: ${JSON.stringify(value)}`],
  "PlanExecuteAgent/Reason": ["step_result", ({ result }) => `I think.\nSTEP_RESULT: ${result}`],
  "ReflexionAgent/Evaluate": [
    "verdict",
    ({ reason, score, success }) => `${success ? "SUCCESS" : "FAILURE"}: ${reason}\nSCORE: ${score}`
  ],
  "ReflexionAgent/Critique": [
    "review",
    ({ accepted, problems }) =>
      accepted ? "NO_CHANGES_NEEDED" : problems.map((one: string, i: number) => `${i + 1}. ${one}`).join("\n")
  ],
  "SelfDiscoveryAgent/DiscoverModules": ["selected_modules", ({ selected }) => lines("SELECTED: ", selected)],
  "SelfDiscoveryAgent/AdaptModules": [
    "adapted_modules",
    ({ modules }) => modules.map(({ name, strategy }: any) => `MODULE: ${name}\n${strategy}`).join("\n")
  ],
  "SelfDiscoveryAgent/PlanReasoning": [
    "reasoning_plan",
    ({ steps }) => steps.map((step: string, i: number) => `STEP ${i + 1}: ${step}`).join("\n")
  ],
  "SelfDiscoveryAgent/FollowStructure": [
    "followed_structure",
    ({ answer, results }) =>
      `${results.map((result: string, i: number) => `STEP ${i + 1}: ${result}`).join("\n")}\nANSWER: ${answer}`
  ],
  "LATSAgent/Expand": [
    "expansions",
    ({ expansions }) =>
      expansions
        .map(
          ({ answer, arguments: args, thought, tool }: any, i: number) =>
            `EXPANSION ${i + 1}\nTHOUGHT: ${thought}${tool === undefined ? "" : `\nACTION: ${tool}\nACTION_INPUT: ${JSON.stringify(args)}`}${answer === undefined ? "" : `\nFINAL_ANSWER: ${answer}`}`
        )
        .join("\n")
  ],
  "LATSAgent/Evaluate": ["judgement", ({ reason, score }) => `REASON: ${reason}\nSCORE: ${score}`],
  "STORMAgent/GenerateOutline": ["outline", outlineText],
  "STORMAgent/RefineOutline": ["outline", outlineText],
  "STORMAgent/RelatedTopics": ["related_topics", ({ topics }) => lines("TOPIC: ", topics)],
  "STORMAgent/GeneratePerspectives": [
    "perspectives",
    ({ perspectives }) =>
      perspectives.map(({ description, name }: any) => `PERSPECTIVE: ${name} | ${description}`).join("\n")
  ],
  "STORMAgent/GenerateQuestions": ["question", ({ done, question }) => (done ? "DONE" : `QUESTION: ${question}`)],
  "STORMAgent/GenerateQueries": ["queries", ({ queries }) => lines("QUERY: ", queries)],
  "AdaptiveAgent/Classify": ["classification", ({ reason, strategy }) => `${strategy}\n${reason}`]
}

/** A model that is asked for texts and thinks in forms: what the sample's model would say as JSON, it writes in the form of the prompt. */
export const inText =
  (model: Model): Model =>
  (request) => {
    const step = stepOf(request)
    const writer = step === undefined ? undefined : writers[keyOf(step)]
    if (writer === undefined || request.responseFormat !== undefined) return model(request)
    const [name, write] = writer
    const reply = model({ ...request, responseFormat: { type: "json", name, schema: {} } })
    return write(JSON.parse(said(reply)))
  }
