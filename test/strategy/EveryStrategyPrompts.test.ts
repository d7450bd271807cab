import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import * as PromptDirectory from "../../src/prompt/PromptDirectory.js"
import * as PromptLibrary from "../../src/prompt/PromptLibrary.js"
import { OUTPUT_FORMAT } from "../../src/prompt/template/PromptStep.js"
import * as EveryStrategy from "./EveryStrategy.js"

const { cases, keyOf, stepOf, succeed, systemOf, textOf } = EveryStrategy

const defaults = Either.getOrThrow(CustomPrompts.make())

interface Rendering {
  readonly key: string
  readonly values: { readonly [name: string]: string }
  readonly rendered: PromptLibrary.Rendered
}

/** The defaults, and what was asked of them. */
const recording = () => {
  const renderings: Array<Rendering> = []
  const library: PromptLibrary.Service = {
    ...defaults,
    render: (step, values) => {
      const rendered = defaults.render(step, values)
      renderings.push({ key: keyOf(step), values, rendered })
      return rendered
    }
  }
  return { library, renderings }
}

const using =
  (library: PromptLibrary.Service) =>
  <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(run, PromptLibrary.PromptLibrary, library)

const everyStep = DefaultPrompts.strategySteps.map((step) => [keyOf(step), step] as const)

/** Requests by the prompt they hold. */
const requestsByStep = (library: PromptLibrary.Service) =>
  Effect.gen(function* () {
    const found = new Map<string, Array<LlmClient.LlmRequest>>()
    for (const given of cases) {
      const { requests } = yield* succeed(given, { around: using(library) })
      for (const request of requests) {
        const step = stepOf(request)
        if (step === undefined) continue
        const known = found.get(keyOf(step))
        if (known === undefined) found.set(keyOf(step), [request])
        else known.push(request)
      }
    }
    return found
  })

describe("prompts of every strategy", () => {
  it.effect("are all asked by their strategy, with every variable filled in and sent", () =>
    Effect.gen(function* () {
      const all: Array<Rendering> = []
      for (const given of cases) {
        const { library, renderings } = recording()
        const { requests } = yield* succeed(given, { around: using(library) })
        const sent = requests.map((request) => request.messages.map(textOf).join("\n")).join("\n")
        // A strategy may fill in a prompt to see what it is like.
        const used = renderings.filter(({ rendered }) => sent.includes(rendered.system) && sent.includes(rendered.user))
        for (const { key } of renderings) {
          assert.isTrue(
            used.some((one) => one.key === key),
            `${given.name}: ${key} is not sent`
          )
        }
        all.push(...used)
      }
      for (const [key, step] of everyStep) {
        const mine = all.filter((one) => one.key === key)
        assert.isAbove(mine.length, 0, `${key} is never asked`)
        const written = [...step.system.variables, ...step.user.variables]
        assert.deepStrictEqual(
          // Where calls are native, the provider tells of the tools: the variable is there for who wants to tell again.
          step.variables.filter((name) => !written.includes(name)),
          key === "ReActAgent/ThoughtStepNative" ? ["available_tools"] : [],
          `variables of ${key} that its own prompt leaves out`
        )
        for (const { values } of mine) {
          for (const name of [...step.variables, OUTPUT_FORMAT]) {
            assert.isTrue(
              Object.hasOwn(values, name) && typeof values[name] === "string",
              `${key}: ${name} is not given`
            )
            assert.notMatch(values[name] ?? "", /\bundefined\b|\[object |\bNaN\b/, `${key}: ${name}`)
          }
        }
        const empty = step.variables.filter((name) => mine.every(({ values }) => values[name]?.trim() === ""))
        // What a run begins with may be empty: its first turn has no history.
        assert.deepStrictEqual(
          empty.filter((name) => name !== "history"),
          [],
          `variables of ${key} that are always empty`
        )
      }
      const used = new Set(all.map(({ key }) => key))
      assert.deepStrictEqual(
        Array.from(used).filter((key) => !everyStep.some(([known]) => known === key)),
        [],
        "steps that the library does not list"
      )
    })
  )

  it.effect("can be overridden in both halves", () =>
    Effect.gen(function* () {
      const overrides: Record<string, Record<string, PromptLibrary.Halves>> = {}
      for (const [, step] of everyStep) {
        overrides[step.pattern] = {
          ...overrides[step.pattern],
          [step.name]: {
            system: `<own system of ${step.name}>\n${step.system.source}`,
            user: `<own user of ${step.name}>\n${step.user.source}`
          }
        }
      }
      const library = Either.getOrThrow(CustomPrompts.make({ overrides }))
      const found = yield* requestsByStep(library)
      for (const [key, step] of everyStep) {
        const requests = found.get(key) ?? []
        assert.isAbove(requests.length, 0, `${key} is never asked`)
        for (const request of requests) {
          assert.include(systemOf(request), `<own system of ${step.name}>`)
          const users = request.messages.filter(({ role }) => role === "user").map(textOf)
          assert.isTrue(
            users.some((text) => text.includes(`<own user of ${step.name}>`)),
            `${key}: the user half`
          )
        }
      }
    })
  )

  it.effect("can be edited as files", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const directory = yield* fs.makeTempDirectoryScoped()
      yield* PromptDirectory.exportTo(directory)
      const edited = Array.from(new Map(everyStep.map(([, step]) => [step.pattern, step])).values())
      for (const { name, pattern } of edited) {
        for (const half of ["system", "user"]) {
          const file = path.join(directory, pattern, name, `${half}.md`)
          yield* fs.writeFileString(file, `<${half} edited for ${pattern}>\n${yield* fs.readFileString(file)}`)
        }
      }
      const library = yield* Effect.provide(PromptLibrary.PromptLibrary, PromptDirectory.layer(directory))
      const found = yield* requestsByStep(library)
      for (const step of edited) {
        const requests = found.get(keyOf(step)) ?? []
        assert.isAbove(requests.length, 0, `${keyOf(step)} is never asked`)
        for (const request of requests) {
          assert.include(systemOf(request), `<system edited for ${step.pattern}>`)
          assert.include(request.messages.map(textOf).join("\n"), `<user edited for ${step.pattern}>`)
        }
      }
      // The others are as they were.
      assert.isAbove(found.size, edited.length)
    }).pipe(Effect.scoped, Effect.provide(NodeContext.layer))
  )

  const patterns = Array.from(new Set(DefaultPrompts.strategySteps.map(({ pattern }) => pattern)))

  /** Cases as they are, and with an answer of a shape that does not fit at first. */
  const asked = [
    ...cases.map((given) => [given, undefined] as const),
    ...cases.map(
      (given) =>
        [
          { ...given, name: `${given.name}, shaped`, shaped: true },
          EveryStrategy.shaping(given.sample.model, { stubborn: true })
        ] as const
    )
  ]

  it.effect("carry instructions for all patterns in every system message", () =>
    Effect.gen(function* () {
      const library = Either.getOrThrow(CustomPrompts.make({ instructions: "Never say blue." }))
      for (const [given, model] of asked) {
        const { requests } = yield* succeed(given, { around: using(library), model })
        for (const request of requests) {
          // A strategy without prompts of its own, and its part in others, says what the agent says.
          if (stepOf(request) === undefined && given.name.startsWith("function_calling")) continue
          const times = systemOf(request).split(`${PromptLibrary.INSTRUCTIONS_HEADING}\n\nNever say blue.`).length - 1
          assert.strictEqual(times, 1, `${given.name}: ${stepOf(request)?.name}`)
        }
      }
    })
  )

  it.effect("carry instructions for one pattern only in its own system messages", () =>
    Effect.gen(function* () {
      const instructions = Object.fromEntries(patterns.map((pattern) => [pattern, `Rule of ${pattern}.`]))
      const library = Either.getOrThrow(CustomPrompts.make({ instructions }))
      const seen = new Set<string>()
      for (const [given, model] of asked) {
        const { requests } = yield* succeed(given, { around: using(library), model })
        for (const request of requests) {
          const step = stepOf(request)
          const rules = patterns.filter((pattern) => systemOf(request).includes(`Rule of ${pattern}.`))
          if (step === undefined) {
            assert.isAtMost(rules.length, 1)
            continue
          }
          assert.deepStrictEqual(rules, [step.pattern], `${given.name}: ${keyOf(step)}`)
          seen.add(step.pattern)
        }
      }
      assert.deepStrictEqual(
        patterns.filter((pattern) => !seen.has(pattern)),
        []
      )
    })
  )

  it.effect("ask for a reply as JSON by a schema, or as text in the form of the prompt", () =>
    Effect.gen(function* () {
      const used = new Set<string>()
      for (const given of cases) {
        const { requests } = yield* succeed(given)
        for (const request of requests) {
          const step = stepOf(request)
          if (step === undefined || step.textFormat === "") continue
          const isJson = request.responseFormat?.type === "json"
          if (given.text === true) {
            assert.isFalse(isJson, `${given.name}: ${keyOf(step)}`)
            if (step.system.variables.includes(OUTPUT_FORMAT)) assert.include(systemOf(request), step.textFormat)
            used.add(`${keyOf(step)} text`)
          } else if (isJson) {
            assert.notInclude(systemOf(request), step.textFormat)
            used.add(`${keyOf(step)} json`)
          }
        }
      }
      // Who is asked for JSON anywhere, is asked for text elsewhere.
      for (const key of used) {
        if (key.endsWith(" json")) assert.isTrue(used.has(key.replace(/ json$/, " text")), `${key} alone`)
      }
    })
  )

  it.effect("lead to the same answer in both forms", () =>
    Effect.gen(function* () {
      const answers = new Map<string, string>()
      for (const given of cases) answers.set(given.name, (yield* succeed(given)).answer)
      let compared = 0
      for (const [name, answer] of answers) {
        const other = answers.get(name.replace(/ \(text\)$/, ""))
        if (!name.endsWith(" (text)") || other === undefined || name.startsWith("supervisor")) continue
        assert.strictEqual(answer, other, name)
        compared++
      }
      assert.isAbove(compared, 9)
    })
  )
})
