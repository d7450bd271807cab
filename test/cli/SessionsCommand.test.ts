import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent } from "effect-lexigram"
import { CliConfig } from "effect-lexigram/cli"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as AgentServers from "../support/AgentServers.js"
import * as Commands from "../support/Commands.js"

const helper = Agent.make("helper", { system: "secret prompt" })

const ann = { userId: UserId.make("ann") }
const main = SessionId.make("main")

/** What a terminal could obey, line ends aside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u202e]/

const turn = (id: string, role: "user" | "assistant", content: string, timestamp: number) => ({
  id: TurnId.make(id),
  role,
  content,
  timestamp,
  toolCalls: role === "assistant" ? [{ id: "c", name: "look_up", params: { order: 17 }, isFailure: true }] : [],
  skillResults: [],
  tokensUsed: 7,
  cost: 0,
  metadata: role === "assistant" ? { agent: "helper" } : {}
})

/** A session of Ann with two turns, a checkpoint, two more turns, a checkpoint; a branch at the first; one of Bob. */
const filled = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.orDie(Sessions.layer({ config: { maxTurnsPerSession: 2000 } })))
  const manager = Context.get(context, SessionManager.SessionManager)
  const branches = Context.get(context, BranchManager.BranchManager)
  const now = yield* Clock.currentTimeMillis
  yield* manager.create({ id: main, ...ann, variables: { city: "Rome" } })
  yield* manager.addTurn(main, turn("t1", "user", "Where is my order?", now), ann)
  yield* manager.addTurn(main, turn("t2", "assistant", "On its way", now), ann)
  const first = yield* manager.checkpoint(main, { ...ann, name: "asked" })
  yield* manager.addTurn(main, turn("t3", "user", "a\u001b[2Jb\u202ec", now), ann)
  yield* manager.update(main, { ...ann, variables: { town: "Oslo" } })
  const second = yield* manager.checkpoint(main, ann)
  yield* branches.fork(main, { ...ann, id: SessionId.make("other"), branchName: "a\u001b[31mb" })
  yield* manager.create({ id: SessionId.make("hers"), userId: UserId.make("bob") })
  const config = CliConfig.make({
    agents: [helper],
    userId: "ann",
    layer: Layer.provideMerge(
      AgentServers.services({ agents: [helper] }) as Layer.Layer<CliConfig.Services>,
      Layer.succeedContext(context)
    )
  })
  return {
    context,
    first,
    manager,
    now,
    run: (...args: ReadonlyArray<string>) => Commands.runWith(config, args),
    second
  }
})

const linesOf = ({ out }: Commands.Ended): ReadonlyArray<any> =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

describe("lexigram sessions", () => {
  it.scopedLive("lists those of the user, by status and up to a number", () =>
    Effect.gen(function* () {
      const { manager, run } = yield* filled
      const text = yield* run("sessions", "list")
      assert.strictEqual(text.code, 0, text.err)
      assert.match(text.out, /^SESSION +STATUS/)
      assert.include(text.out, "main")
      assert.notInclude(text.out, "hers")
      assert.notMatch(text.out, obeyed)
      yield* manager.close(main, ann)
      const closed = (yield* run("sessions", "list", "--status", "closed", "--json")).json
      assert.deepStrictEqual(
        closed.sessions.map(({ id }: { id: string }) => id),
        ["main"]
      )
      assert.lengthOf((yield* run("sessions", "list", "--limit", "1", "--json")).json.sessions, 1)
      assert.strictEqual((yield* run("sessions", "list", "--user", "nobody")).out, "No sessions.\n")
      assert.include((yield* run("sessions", "list", "--user", "bob")).out, "hers")
      for (const user of ["a\u001b", "a".repeat(300)]) {
        const wrong = yield* run("sessions", "list", "--user", user)
        assert.strictEqual(wrong.code, 2)
        assert.include(wrong.err, "1 to 256 characters")
      }
      assert.strictEqual((yield* run("sessions", "list", "--limit", "0")).code, 2)
      assert.strictEqual((yield* run("sessions", "list", "--status", "lost")).code, 2)
    })
  )

  it.scopedLive("shows one with its newest turns, without what would move the cursor", () =>
    Effect.gen(function* () {
      const { first, run } = yield* filled
      const text = yield* run("sessions", "show", "main")
      assert.strictEqual(text.code, 0, text.err)
      for (const part of ["On its way", "look_up (failed)", 'town="Oslo"', `${first.id} asked`, "a\\u{001b}[2Jb"]) {
        assert.include(text.out, part)
      }
      assert.notMatch(text.out, obeyed)
      assert.isBelow(text.out.indexOf("Where is"), text.out.indexOf("On its way"))
      assert.notInclude(text.out, "secret prompt")
      const last = yield* run("sessions", "show", "main", "--limit", "1")
      assert.include(last.out, "3, the last 1 below")
      assert.notInclude(last.out, "On its way")
      const { json } = yield* run("sessions", "show", "main", "--json")
      assert.deepStrictEqual(
        [json.session.id, json.turns.map(({ id }: any) => id), json.checkpoints.length],
        ["main", ["t1", "t2", "t3"], 2]
      )
    })
  )

  it.scopedLive("shows the tree, and what two checkpoints differ in", () =>
    Effect.gen(function* () {
      const { first, run, second } = yield* filled
      const tree = yield* run("sessions", "tree", "other")
      assert.strictEqual(tree.out, "  main\n*   other  a\\u{001b}[31mb\n")
      assert.strictEqual((yield* run("sessions", "tree", "other", "--json")).json.root.children[0].sessionId, "other")
      const diff = yield* run("sessions", "diff", first.id, second.id)
      assert.strictEqual(diff.code, 0, diff.err)
      assert.deepStrictEqual(diff.out.trim().split("\n"), [
        "+ user: a\\u{001b}[2Jb\\u{202e}c",
        "- variable city",
        "+ variable town = Oslo"
      ])
      const json = (yield* run("sessions", "diff", second.id, first.id, "--json")).json
      assert.deepStrictEqual(json.turns.removed, [{ sessionId: "main", turnId: "t3" }])
      assert.strictEqual((yield* run("sessions", "diff", first.id, first.id)).out, "No differences.\n")
    })
  )

  it.scopedLive("exports all turns from the first on, whatever number of pages they have", () =>
    Effect.gen(function* () {
      const { manager, now, run } = yield* filled
      const long = SessionId.make("long")
      yield* manager.create({ id: long, ...ann })
      for (let i = 0; i < 1201; i++) yield* manager.addTurn(long, turn(`n${i}`, "user", `${i}\u001b`, now), ann)
      const ended = yield* run("sessions", "export", "long")
      assert.strictEqual(ended.code, 0, ended.err)
      assert.notMatch(ended.out, obeyed)
      const [head, ...turns] = linesOf(ended)
      assert.strictEqual(head.session.id, "long")
      assert.deepStrictEqual(
        turns.flatMap(({ turn }) => (turn === undefined ? [] : [turn.content])),
        Array.from({ length: 1201 }, (_, i) => `${i}\u001b`)
      )
      const kinds = linesOf(yield* run("sessions", "export", "main", "--json")).map((line) => Object.keys(line)[0])
      assert.deepStrictEqual(kinds, ["session", "turn", "turn", "turn", "checkpoint", "checkpoint"])
    })
  )

  it.scopedLive("erases one when it is confirmed", () =>
    Effect.gen(function* () {
      const { run } = yield* filled
      const unasked = yield* run("sessions", "erase", "main")
      assert.strictEqual(unasked.code, 2)
      assert.include(unasked.err, "--yes")
      assert.strictEqual((yield* run("sessions", "show", "main")).code, 0)
      const erased = yield* run("sessions", "erase", "main", "--yes", "--json")
      assert.deepStrictEqual(erased.json, { erased: "main" })
      assert.strictEqual((yield* run("sessions", "show", "main")).code, 4)
      assert.strictEqual((yield* run("sessions", "erase", "main", "--yes")).code, 4)
    })
  )

  it.scopedLive("finds nothing of other users, and nothing that is not there", () =>
    Effect.gen(function* () {
      const { first, run, second } = yield* filled
      for (const id of ["hers", "none", "..", "\u{1f600}", "__proto__"]) {
        const commands = [["show"], ["tree"], ["export"], ["erase", "--yes"]]
        for (const args of id === "hers" ? commands : commands.slice(0, 1)) {
          const ended = yield* run("sessions", ...args, id)
          assert.strictEqual(ended.code, id === ".." ? 2 : 4, `${args[0]} ${id} ${ended.err}`)
          assert.strictEqual(ended.out, "")
          assert.notMatch(ended.err, obeyed)
        }
      }
      assert.strictEqual((yield* run("sessions", "show", "a\u001bb")).code, 2)
      assert.strictEqual((yield* run("sessions", "show", "a".repeat(300))).code, 2)
      assert.strictEqual((yield* run("sessions", "diff", first.id, second.id, "--user", "bob")).code, 4)
      assert.strictEqual((yield* run("sessions", "diff", first.id, "none")).code, 4)
    })
  )

  it.scopedLive("says that an application has no sessions", () =>
    Effect.gen(function* () {
      const config = CliConfig.make({
        agents: [helper],
        layer: AgentServers.services({ agents: [helper] }) as Layer.Layer<CliConfig.Services>
      })
      const ended = yield* Commands.runWith(config, ["sessions", "list"])
      assert.strictEqual(ended.code, 3, ended.err)
      assert.include(ended.err, "sessions")
    })
  )

  it.scopedLive("talks to a server", () =>
    Effect.gen(function* () {
      const { context, first, second } = yield* filled
      const { url } = yield* AgentServers.start({ agents: [helper], sessions: Layer.succeedContext(context) })
      const run = (...args: ReadonlyArray<string>) =>
        Commands.run([...args, "--url", url], { env: { LEXIGRAM_TOKEN: "token-ann" } })
      const text = yield* run("sessions", "show", "main")
      assert.strictEqual(text.code, 0, text.err)
      assert.include(text.out, "On its way")
      assert.include((yield* run("sessions", "diff", first.id, second.id)).out, "+ variable town = Oslo")
      assert.lengthOf(linesOf(yield* run("sessions", "export", "main")), 6)
      assert.strictEqual((yield* run("sessions", "show", "hers")).code, 4)
      const nobody = yield* Commands.run(["sessions", "list", "--url", url])
      assert.strictEqual(nobody.code, 5, nobody.err)
    })
  )
})
