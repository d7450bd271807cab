import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as JudgeGuard from "../../src/guard/JudgeGuard.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as DefaultSkillCatalog from "../../src/skill/folder/DefaultSkillCatalog.js"
import * as ScriptRunner from "../../src/skill/folder/ScriptRunner.js"
import * as SkillTrust from "../../src/skill/folder/SkillTrust.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolRegistry from "../../src/tool/ToolRegistry.js"
import * as ToolSource from "../../src/tool/ToolSource.js"
import { loaded } from "../skill/LoadedSkills.js"
import * as Collaborators from "../support/Collaborators.js"
import * as CutRuns from "./CutRuns.js"
import { call, say, usage } from "./DurableProcesses.js"

/** What is read; another one after the first process. */
class Source {
  version = 1
  /** How often it was read, by version. */
  readonly reads: Array<number> = []

  readonly read = <A>(of: (version: number) => A): Effect.Effect<A> =>
    Effect.sync(() => {
      this.reads.push(this.version)
      return of(this.version)
    })
}

/** Looks, then answers. What is done names the request whole: two runs have the same ones, or differ. */
const model = (world: CutRuns.World): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: (request) => {
    const results = request.messages.filter(({ role }) => role === "tool").length
    const answer = results === 0 ? call(["look", {}]) : say("done")
    return world.call(`model ${JSON.stringify(request)}`, Effect.succeed(answer))
  }
})

type Parts = Omit<CutRuns.Scenario<Source>, "shared" | "between" | "model"> & {
  readonly model?: CutRuns.Scenario<Source>["model"]
}

const scenario = (parts: Parts): CutRuns.Scenario<Source> => ({
  shared: () => Effect.sync(() => new Source()),
  between: (source) => {
    source.version++
  },
  look: ({ reads }) => Effect.sync(() => reads.filter((version) => version > 1).length),
  ...parts,
  model: parts.model ?? model
})

const plain = (world: CutRuns.World) => [Agent.make("a", { tools: [world.tool("look")] })]

const over =
  (more: (source: Source) => object): Exclude<CutRuns.Scenario<Source>["executor"], undefined> =>
  (ports, source) =>
    Agents.layerWith({ log: ports, steering: ports, approvals: ports, ...more(source) } as {}) as never

/** In the second version a tool has other words, and another one is gone. */
const toolsOf = (world: CutRuns.World, version: number): ReadonlyArray<Tool.Any> => {
  const look = Tool.make("look", {
    description: `Looks, version ${version}`,
    idempotent: true,
    handler: () => world.call("look", Effect.succeed("look done"))
  })
  const old = Tool.make("old", { description: "Old", handler: () => Effect.succeed("old") })
  const recent = Tool.make("recent", { description: "Recent", handler: () => Effect.succeed("recent") })
  return version === 1 ? [look, old] : [recent, look]
}

const catalog = (source: Source) =>
  DefaultSkillCatalog.layer([
    loaded("reports", { file: { description: `Writes reports, version ${source.version}` } }),
    ...(source.version === 1 ? [] : [loaded("more")])
  ]).pipe(Layer.provide(Layer.mergeAll(NodeContext.layer, ScriptRunner.layerNoop, SkillTrust.layerNoop)))

const skillsOf = (source: Source) => {
  const parameters = { type: "object", properties: {} }
  const names = source.version === 1 ? ["old", "kept"] : ["kept"]
  return Collaborators.skills(
    names.map((name) => ({ name, description: `Does ${name}, version ${source.version}`, parameters })),
    () => Effect.dieMessage("no skill is called")
  ).layer
}

const hooksOf = (source: Source) =>
  Hooks.filterHandler(
    AgentHooks.AgentInputFilter,
    (input) => source.read((version) => `${input}, version ${version}`),
    {
      recorded: true
    }
  ).pipe(
    Layer.merge(Hooks.handler(AgentHooks.AgentStartedHook, () => source.read(() => undefined), { recorded: true })),
    Layer.provideMerge(Hooks.layer)
  )

const recalled = (source: Source) => {
  const memory = Collaborators.memory()
  const assemble: typeof memory.service.assemble = () =>
    source.read((version) => ({
      entries: [],
      facts: [],
      tools: [{ name: "look", text: `found in version ${version}` }] as never,
      tokens: 1,
      report: []
    }))
  return Collaborators.memory({ assemble }).layer
}

/** What a run reads, and how often the second version of it is read for its handlers. */
const cases: ReadonlyArray<readonly [name: string, reads: number, scenario: CutRuns.Scenario<Source>]> = [
  [
    "the tools of a source",
    1,
    scenario({
      agents: (world, source) => [
        Agent.make("a").pipe(
          Agent.withToolSource(
            ToolSource.make({ name: "plugins", tools: source.read((version) => toolsOf(world, version)) })
          )
        )
      ]
    })
  ],
  [
    "the tools of a registry",
    1,
    scenario({
      agents: () => [Agent.make("a")],
      executor: (ports, source) =>
        Agents.layerWith({
          log: ports,
          steering: ports,
          approvals: ports,
          tools: Layer.succeed(ToolRegistry.ToolRegistry, {
            listVisible: source.read((version) => toolsOf(new CutRuns.World(), version))
          } as ToolRegistry.Service)
        })
    })
  ],
  ["the skills in folders", 0, scenario({ agents: plain, executor: over((source) => ({ catalog: catalog(source) })) })],
  [
    "the skills of a registry",
    0,
    scenario({ agents: plain, executor: over((source) => ({ skills: skillsOf(source) })) })
  ],
  [
    "instructions",
    0,
    scenario({
      agents: (world, source) => [
        Agent.make("a", { tools: [world.tool("look")] }).pipe(
          Agent.withInstructions(() => source.read((version) => `Version ${version}`))
        )
      ]
    })
  ],
  [
    "what recorded hooks return",
    0,
    scenario({ agents: plain, executor: over((source) => ({ hooks: hooksOf(source) })) })
  ],
  [
    "documents that a tool finds",
    0,
    scenario({
      agents: (_, source) => [
        Agent.make("a", {
          tools: [
            Tool.make("look", {
              description: "Searches",
              idempotent: true,
              handler: () => source.read((version) => `version ${version}`)
            })
          ]
        })
      ]
    })
  ],
  ["what memory recalls", 0, scenario({ agents: plain, executor: over((source) => ({ memory: recalled(source) })) })],
  [
    "the verdicts of a guard by a model",
    0,
    scenario({
      agents: plain,
      executor: over(() => ({ guards: DefaultGuardPipeline.layerGuards([JudgeGuard.make({ kind: "jailbreak" })]) })),
      // Another verdict in the second version, which nobody asks for.
      model: (world, source) => ({
        ...model(world),
        complete: (request) =>
          request.tools === undefined
            ? world.call(
                "model judge",
                source.read((version) => say(JSON.stringify({ explanation: "so", categories: [], score: version - 1 })))
              )
            : model(world).complete(request)
      })
    })
  ],
  [
    "the results of a provider's tools",
    0,
    scenario({
      agents: plain,
      model: (world, source) => ({
        provider: "test",
        model: "m",
        complete: (request) => {
          const results = request.messages.filter(({ role }) => role === "tool").length
          const searched: LlmClient.LlmResponse = {
            content: [
              { type: "tool-call", id: "s", name: "web_search", params: {}, providerExecuted: true },
              {
                type: "tool-result",
                id: "s",
                name: "web_search",
                result: `version ${source.version}`,
                isFailure: false,
                providerExecuted: true
              } as never,
              { type: "tool-call", id: "c0", name: "look", params: {} }
            ],
            finishReason: "tool-calls",
            usage
          }
          const answer =
            results === 0
              ? Effect.as(
                  source.read(() => 0),
                  searched
                )
              : Effect.succeed(say("done"))
          return world.call(`model ${JSON.stringify(request)}`, answer)
        }
      })
    })
  ]
]

describe("a durable run goes on with what it read first", () => {
  for (const [name, reads, given] of cases) {
    it.live(name, () =>
      Effect.gen(function* () {
        const ends = yield* CutRuns.everywhere(given, (calls) => [calls])
        const [cut] = ends.cut
        assert.strictEqual((ends.expected.end as { readonly message?: string }).message, "done")
        assert.deepStrictEqual(cut?.end, ends.expected.end)
        assert.deepStrictEqual(cut?.done, ends.expected.done)
        assert.strictEqual(cut?.repeated, 0)
        assert.strictEqual(cut?.looked, reads)
      })
    )
  }
})
