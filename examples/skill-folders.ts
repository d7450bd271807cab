/**
 * A skill in a folder: the agent sees its name, reads its instructions on demand, then one of its files; while the
 * skill is active, the run may use only the tools the skill allows.
 */
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Agents, Tool } from "effect-lexigram"
import { DefaultSkillCatalog, ScriptRunner, SkillFileReader, SkillFolders, SkillTrust } from "effect-lexigram/skill"
import { TestModel } from "effect-lexigram/testing"

const folders = Path.join(Path.dirname(fileURLToPath(import.meta.url)), "skills")

const changes = Tool.make("changes", {
  description: "The changes since the last release",
  handler: () => Effect.succeed("search by tags; a crash on empty input is gone")
})
const publish = Tool.make("publish", { description: "Publishes a release", handler: () => Effect.succeed("published") })

const writer = Agent.make("writer", { system: "You write for our users.", tools: [changes, publish] })

const model = TestModel.layer([
  { calls: [{ name: "activate_skill", params: { name: "release-notes", arguments: "version 2.1" } }] },
  { calls: [{ name: "read_skill_file", params: { name: "release-notes", path: "references/headings.md" } }] },
  { calls: [{ name: "changes", params: {} }] },
  { calls: [{ name: "publish", params: {} }] },
  "Added: search by tags.\nFixed: a crash on empty input."
])

const catalog = Layer.unwrapEffect(
  Effect.map(SkillFolders.scan({ paths: [folders] }), ({ problems, skills }) => {
    for (const { message, path } of problems) console.log(path, message)
    return DefaultSkillCatalog.layer(skills, { reload: ({ directory }) => SkillFileReader.load(directory) })
  })
).pipe(Layer.provide([ScriptRunner.layerNoop, SkillTrust.layerNoop]))

const program = Stream.runForEach(
  AgentExecutor.stream(writer, "Release notes for 2.1, please, then publish"),
  (event) =>
    Effect.sync(() => {
      if (event._tag === "ToolResult")
        console.log(`${event.name}:`, event.observation.split("\n").slice(0, 12).join("\n  "))
      if (event._tag === "Message" && event.text !== "") console.log(`\n${event.text}`)
    })
)

await program.pipe(
  Effect.provide(Agents.layerWith({ catalog }).pipe(Layer.provide(model), Layer.provide(NodeContext.layer))),
  Effect.runPromise
)
