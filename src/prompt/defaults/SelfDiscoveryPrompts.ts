/**
 * Prompts of the Self-Discover strategy.
 *
 * @since 0.1.0
 */
import * as PromptStep from "../template/PromptStep.js"

const pattern = "SelfDiscoveryAgent"

/**
 * SELECT: selects the modules that serve the task.
 *
 * @since 0.1.0
 * @category constants
 */
export const DiscoverModules = PromptStep.make({
  pattern,
  name: "DiscoverModules",
  role: "thinking",
  variables: ["task", "modules", "max_modules"],
  required: ["task", "modules"],
  textFormat:
    "One line for each chosen module, the most useful first, with its name exactly as in the list:\n\nSELECTED: name_of_the_module",
  system: {
    role: "You choose how a kind of task is best thought about. You do not solve it.",
    process: [
      "Say to yourself what makes tasks of this kind hard: facts, calculation, conditions, judgement, invention.",
      "Read the whole list of modules before choosing any.",
      "Choose those that meet the difficulty, and prefer modules that do different work to ones that say the same twice.",
      "Put them in the order of their use."
    ],
    output: "Choose at least one and at most {max_modules}. Fewer that fit are better than more.\n\n{output_format}",
    edgeCases: [
      "Every module looks useful: ask which one you would miss most, and begin with that.",
      "None seems to fit: choose those that split the task up and check its conditions.",
      "The task names a way of thinking of its own: choose the modules nearest to it, never a name that is not listed."
    ],
    examples: [
      "A puzzle with several conditions about who sits where: a module that lists conditions, one that draws the arrangement, one that goes step by step. Not one about stakeholders."
    ]
  },
  user: "## Task\n\n{task}\n\n## Modules\n\n{modules}\n\nChoose at most {max_modules} modules."
})

/**
 * ADAPT: adapts the modules to the task.
 *
 * @since 0.1.0
 * @category constants
 */
export const AdaptModules = PromptStep.make({
  pattern,
  name: "AdaptModules",
  role: "thinking",
  variables: ["task", "module_name", "module_description", "module_template"],
  required: ["task", "module_name"],
  textFormat:
    "For each module a line `MODULE: ` with its name as given, and below it the adapted text:\n\nMODULE: name_of_the_module\nHow it is used on this task.",
  system: {
    role: "You rewrite general ways of thinking so that they speak about one kind of task. You do not solve the task.",
    process: [
      "Read what the module is for.",
      "Find the things in the task that it works on: quantities, conditions, people, texts, choices.",
      "Rewrite the module as instructions that name these things, in the order one would follow them.",
      "Strike every sentence that would read the same for another task."
    ],
    output: "Two to five sentences for a module, in the imperative, without results.\n\n{output_format}",
    edgeCases: [
      "The module hardly fits: say the one thing in the task it can still be used for.",
      "The task gives concrete values: speak of their kind, so that the text serves the next task of this kind too.",
      "You notice the answer: do not write it down."
    ],
    examples: [
      '"List every condition" becomes, for a timetable: "Write down for each course its room, its teacher and the hours both are free; mark hours that two courses claim."'
    ]
  },
  user: "## Task\n\n{task}\n\n## Module: {module_name}\n\n{module_description}\n\nApplied in general:\n\n{module_template}\n\nAdapt it to the task."
})

/**
 * IMPLEMENT: turns the adapted modules into a structure of steps.
 *
 * @since 0.1.0
 * @category constants
 */
export const PlanReasoning = PromptStep.make({
  pattern,
  name: "PlanReasoning",
  role: "thinking",
  variables: ["task", "adapted_modules", "max_steps"],
  required: ["task", "adapted_modules"],
  textFormat: "One line for each step, numbered from 1:\n\nSTEP 1: what is to be found out or decided",
  system: {
    role: "You turn ways of thinking into a plan that somebody follows without having seen them. You do not solve the task.",
    process: [
      "Decide what has to be known before the answer can be given.",
      "Make one step of each such thing, so that its result can be written down.",
      "Order the steps so that each uses only what is given or what an earlier step gave.",
      "Let the last steps draw the conclusion and check it against the task."
    ],
    output: "At least one and at most {max_steps} steps, each one sentence in the imperative.\n\n{output_format}",
    edgeCases: [
      "A step holds two findings: make two of it.",
      "A step only says to think or to be careful: replace it by what is to be written down.",
      "The plan should also serve other tasks of this kind: keep results and values that you happen to see out of it."
    ],
    examples: [
      "For problems about sums of money: 1. List every amount with its unit and what it stands for. 2. Write the relation between them. 3. Compute the unknown amount. 4. Put it back into the text and see whether it fits."
    ]
  },
  user: "## Task\n\n{task}\n\n## Ways of thinking, adapted to it\n\n{adapted_modules}\n\nWrite the plan, in at most {max_steps} steps."
})

/**
 * Carries out one step of the structure.
 *
 * @since 0.1.0
 * @category constants
 */
export const ExecuteStep = PromptStep.make({
  pattern,
  name: "ExecuteStep",
  role: "execution",
  variables: ["task", "step_description", "previous_results"],
  required: ["task", "step_description"],
  system: {
    role: "You carry out one step of a plan and write down its result. Later steps build on it.",
    process: [
      "Read the task, then what earlier steps have found.",
      "Do what this step says about this very task: work with its values and words.",
      "Check the result before you write it down."
    ],
    output: "The result of this step with the reasoning that it needs. Do not go on to later steps.",
    edgeCases: [
      "An earlier result is wrong: say so, correct it, and go on with the correct one.",
      "The step has nothing to work on in this task: say that in one sentence.",
      "Something cannot be known: name the assumption you make."
    ]
  },
  user: "## Task\n\n{task}\n\n## Results so far\n\n{previous_results}\n\n## This step\n\n{step_description}\n\nCarry out this step."
})

/**
 * Fills in the whole structure, then answers.
 *
 * @since 0.1.0
 * @category constants
 */
export const FollowStructure = PromptStep.make({
  pattern,
  name: "FollowStructure",
  role: "execution",
  variables: ["task", "structure"],
  required: ["task", "structure"],
  textFormat:
    "For each step of the plan a line that begins with its number, and last the answer:\n\nSTEP 1: its result\nSTEP 2: its result\nANSWER: the answer to the task",
  system: {
    role: "You solve a task by filling in a plan, step after step, and then give the answer that the plan leads to.",
    process: [
      "Take the steps in their order; write the result of each before you look at the next.",
      "Reason about this very task in each step. Repeating the step in other words is no result.",
      "Draw the answer from the results. Where it does not agree with them, find the step that is wrong first."
    ],
    output: "A result for every step of the plan, and the answer as the task asks for it.\n\n{output_format}",
    edgeCases: [
      "A step has nothing to work on: its result says so.",
      "A later step shows that an earlier result is wrong: say it in the later one and go on with what is right."
    ]
  },
  user: "## Task\n\n{task}\n\n## Plan\n\n{structure}\n\nFill in the plan and answer."
})

/**
 * Writes the answer from the results of the steps.
 *
 * @since 0.1.0
 * @category constants
 */
export const SynthesizeOutput = PromptStep.make({
  pattern,
  name: "SynthesizeOutput",
  role: "thinking",
  variables: ["task", "reasoning_steps"],
  required: ["task", "reasoning_steps"],
  system: {
    role: "You give the answer that a chain of reasoning has reached, to somebody who only knows the task.",
    process: [
      "Find the result that answers the task.",
      "See whether the other results agree with it; a later correction counts more than what it corrects.",
      "Write the answer, with as much of the reasoning as makes it convincing and no more."
    ],
    output: "The answer, in the form the task asks for, without mention of steps or plans.\n\n{output_format}",
    edgeCases: [
      "Results contradict each other: decide by the one whose reasoning you can follow from the task.",
      "Something is missing: answer as far as the results go and say what is open."
    ]
  },
  user: "## Task\n\n{task}\n\n## Reasoning\n\n{reasoning_steps}\n\nWrite the answer."
})

/**
 * Its steps.
 *
 * @since 0.1.0
 * @category constants
 */
export const steps: ReadonlyArray<PromptStep.PromptStep> = [
  DiscoverModules,
  AdaptModules,
  PlanReasoning,
  ExecuteStep,
  FollowStructure,
  SynthesizeOutput
]
