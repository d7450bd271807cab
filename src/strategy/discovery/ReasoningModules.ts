/**
 * Reasoning modules that `SelfDiscovery` chooses from: the ideas of the 39 modules of Zhou, Pujara et al. 2024 (arXiv
 * 2402.03620) in the words of this library, and further ones.
 *
 * @since 0.1.0
 */

/**
 * A reasoning module. `template` says how to apply it; `{task}` in it is replaced by the task.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReasoningModule {
  readonly name: string
  readonly description: string
  readonly template: string
}

const table = {
  design_experiment: [
    "Settle an open point by a test, real or imagined, whose result would be different for each candidate answer.",
    "Which test would tell the candidate answers to {task} apart, and what would each result mean?"
  ],
  list_and_try_ideas: [
    "Collect several approaches first, then take them one at a time and keep the one that gets furthest.",
    "Name five approaches to {task}. Follow each for a few steps and note how far it gets."
  ],
  track_progress: [
    "Fix a sign by which one can see at any moment whether the work gets closer to its goal.",
    "While working on {task}, by what can one tell that a step has brought the answer nearer?"
  ],
  simplify: [
    "Solve an easier version that keeps the difficulty, then carry the way of solving it back.",
    "What is the smallest version of {task} that is still hard for the same reason? Solve it first."
  ],
  question_assumptions: [
    "Bring to light what is silently taken for granted and check which of it is really given.",
    "What does {task} seem to presuppose that it never states? Does the answer hold without it?"
  ],
  weigh_drawbacks: [
    "For every candidate answer, say what it costs and where it can go wrong.",
    "For each answer to {task} that is in question: what speaks against it?"
  ],
  change_viewpoint: [
    "Look at the matter as somebody with other interests or other knowledge would.",
    "How would two people who disagree about {task} each describe it?"
  ],
  long_term_effects: [
    "Follow consequences beyond the first one: what happens later, and because of that.",
    "If {task} is answered in this way, what follows next year, and what follows from that?"
  ],
  break_down_problem: [
    "Split the whole into parts that can be solved alone and say how the parts make the whole.",
    "Which parts does {task} consist of, which of them depends on which, and in what order are they solved?"
  ],
  critical_analysis: [
    "Test every claim: where does it come from, does it follow, what would refute it?",
    "Which statements in {task} are facts, which are inferences, and which of the inferences is the weakest?"
  ],
  think_creatively: [
    "Leave the usual path on purpose: combine, invert, exaggerate, borrow from elsewhere.",
    "What would an answer to {task} look like that nobody in the field would propose at first?"
  ],
  consult_others: [
    "Ask in thought the people who know parts of the matter, and use what each would contribute.",
    "Which three experts would one ask about {task}, and what would each of them insist on?"
  ],
  systems_thinking: [
    "See the matter as parts that act on each other, with feedback, delays and side effects.",
    "What influences what in {task}, and where does an effect come back to its cause?"
  ],
  risk_analysis: [
    "List what may happen, how likely and how bad it is, and how it could be prevented or borne.",
    "Which outcomes of {task} are uncertain, and which combination of likelihood and damage matters most?"
  ],
  examine_own_thinking: [
    "Step back and look for one's own habits, preferences and blind spots in the reasoning so far.",
    "Which answer to {task} came to mind first, why that one, and what would one think without it?"
  ],
  find_core_issue: [
    "Separate what the matter is really about from what only surrounds it.",
    "If one sentence of {task} could be kept, which one would it be?"
  ],
  trace_causes: [
    "Go from what is seen back to what brings it about, as often as it takes.",
    "Why is it as {task} describes it? And why is that?"
  ],
  learn_from_precedents: [
    "Look for earlier attempts at the same or a like matter, with what came of them.",
    "How has something like {task} been handled before, and what worked or failed?"
  ],
  anticipate_obstacles: [
    "Foresee where the way to the answer may be blocked and prepare a way round.",
    "At which point of {task} will one most likely get stuck, and what then?"
  ],
  gather_evidence: [
    "Find the data that bear on the matter, say how reliable they are and what they show.",
    "Which figures, observations or sources in or about {task} decide it?"
  ],
  map_stakeholders: [
    "Name everybody who is touched by the matter, with what each of them wants and fears.",
    "Who gains, who loses and who decides in {task}?"
  ],
  take_stock_of_resources: [
    "Compare what is needed, in money, people, time and tools, with what is there.",
    "What does {task} need in order to be done, and which of it is missing?"
  ],
  define_success: [
    "Say before the work what a good result is, so that it can be judged afterwards.",
    "When would everybody agree that {task} has been solved well?"
  ],
  choose_metrics: [
    "Pick the quantities that show how good a result is, and how they are measured.",
    "Which two or three numbers would tell a good answer to {task} from a poor one?"
  ],
  locate_expertise: [
    "Decide whether practical skill, technical knowledge or pure thought is asked for, and apply that.",
    "Which field does {task} belong to, and what is that field's standard way of handling it?"
  ],
  physical_limits: [
    "Look for limits that cannot be argued with: space, matter, energy, infrastructure.",
    "Which parts of {task} are bound by what is physically there?"
  ],
  human_behaviour: [
    "Consider how people really act: motives, habits, culture, groups.",
    "What do the people in {task} want and believe, and what will they therefore do?"
  ],
  decide_under_uncertainty: [
    "Choose although facts are missing or goals compete: name the options, what they bring, and what may happen.",
    "Which options does {task} leave, and which of them is still good if the guesses are wrong?"
  ],
  model_and_compute: [
    "Turn the matter into quantities and relations, then calculate or optimise.",
    "Which variables, equations or tables describe {task}, and what do they give?"
  ],
  design_thinking: [
    "Treat the matter as something to be built: needs, drafts, trial with users, improvement.",
    "For whom is the result of {task}, what do they need it for, and which draft serves them best?"
  ],
  address_structure: [
    "Ask whether the single case comes from how things are arranged, and change the arrangement.",
    "Would {task} come up again after this case is solved, and what would prevent that?"
  ],
  mind_the_clock: [
    "Take time as a condition: what is urgent, what can wait, what is lost by waiting.",
    "Which parts of {task} have to happen first or by a date, and in what order does that put the rest?"
  ],
  recall_typical_solutions: [
    "Recognise what kind of matter it is and begin with the solution that this kind usually has.",
    "What kind of problem is {task}, and what do answers to this kind look like?"
  ],
  guess_alternatives: [
    "Beside the best answer so far, guess others that would fit the same conditions.",
    "Which other answers to {task} would meet every stated condition?"
  ],
  assume_it_is_wrong: [
    "Suppose that the best answer so far is mistaken, and look for the reading under which it is.",
    "If the obvious answer to {task} were wrong, where would the mistake be?"
  ],
  improve_best_answer: [
    "Take the best answer so far and change the one thing that would improve it most.",
    "What is the weakest point of the present answer to {task}, and how is it mended?"
  ],
  start_afresh: [
    "Put the present answer aside and build another from the conditions alone.",
    "How would one solve {task} without having seen any answer to it?"
  ],
  step_by_step: [
    "Go in small steps, each of which follows from the one before and can be checked.",
    "Solve {task} in steps that are each too small to hide a mistake."
  ],
  plan_then_execute: [
    "Write a plan whose steps are explained, then carry it out step by step as written.",
    "Which steps lead to the answer of {task}, what is each of them for, and what does each give?"
  ],
  identify_constraints: [
    "List every condition that the answer has to meet, stated or implied, and use them to rule answers out.",
    "What must, what may and what must not be true of an answer to {task}?"
  ],
  analogical_reasoning: [
    "Carry over the solution of something of the same structure, and check where the likeness ends.",
    "What has the same structure as {task}, how is that solved, and which part does not carry over?"
  ],
  first_principles: [
    "Reduce the matter to what is certainly true and build the answer up from there alone.",
    "Which basic facts govern {task}, and what follows from them without any convention?"
  ],
  pros_and_cons: [
    "Set out what speaks for and against each option and weigh it.",
    "For each option in {task}: what are its two strongest advantages and disadvantages?"
  ],
  pattern_recognition: [
    "Look for what repeats, grows or alternates, state the rule, and test it on every case.",
    "Which regularity do the cases in {task} show, and does any of them break it?"
  ],
  hypothesis_testing: [
    "State a candidate explanation, derive what else would have to be true, and check that.",
    "What would one expect to find in {task} if the candidate answer were true, and is it there?"
  ],
  visualization: [
    "Draw the matter in words: a table, a line of time, a map, a graph of what is connected.",
    "Which picture or table shows {task} best? Draw it in text and read the answer off it."
  ]
} as const satisfies { readonly [name: string]: readonly [description: string, template: string] }

/**
 * @since 0.1.0
 * @category models
 */
export type Name = keyof typeof table

const entries = Object.entries(table) as ReadonlyArray<readonly [Name, readonly [string, string]]>

/**
 * All modules.
 *
 * @since 0.1.0
 * @category constants
 */
export const all: ReadonlyArray<ReasoningModule> = entries.map(([name, [description, template]]) => ({
  name,
  description,
  template
}))

/**
 * The 39 modules with a counterpart in the paper, in its order.
 *
 * @since 0.1.0
 * @category constants
 */
export const paper: ReadonlyArray<ReasoningModule> = all.slice(0, 39)

/**
 * The ten modules of the original pattern library.
 *
 * @since 0.1.0
 * @category constants
 */
export const originals: ReadonlyArray<Name> = [
  "break_down_problem",
  "identify_constraints",
  "analogical_reasoning",
  "first_principles",
  "step_by_step",
  "pros_and_cons",
  "critical_analysis",
  "pattern_recognition",
  "hypothesis_testing",
  "visualization"
]

const byName = new Map<string, ReasoningModule>(all.map((one) => [one.name, one]))

/**
 * The module with that name.
 *
 * @since 0.1.0
 * @category getters
 */
export const get: {
  (name: Name): ReasoningModule
  (name: string): ReasoningModule | undefined
} = (name: string) => byName.get(name) as ReasoningModule
