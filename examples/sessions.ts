/**
 * Sessions: a conversation that outlives its runs, and branches that try alternatives and merge the results. Nothing
 * leaves the process.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Agents, Ids } from "effect-lexigram"
import { AgentParticipant } from "effect-lexigram/agent"
import { OfflineModel } from "effect-lexigram/offline"
import {
  BranchManager,
  BranchTree,
  GroupSession,
  GroupTermination,
  MergeStrategy,
  SessionAnalytics,
  SessionManager,
  Sessions
} from "effect-lexigram/session"

const userId = Ids.UserId.make("ada")
const trip = Ids.SessionId.make("trip")
const guide = Agent.make("guide", { system: "You plan trips." })

const say = (sessionId: string, input: string) => AgentExecutor.run(guide, { input, sessionId, userId })

const branching = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const branches = yield* BranchManager.BranchManager

  // A run creates or resumes the session and adds two turns.
  yield* say(trip, "Four days in Portugal, by train.")
  yield* sessions.update(trip, { userId, variables: { days: 4, city: "Lisbon" } })

  // A branch costs the same after ten turns and after ten thousand: it shares them.
  const north = yield* branches.fork(trip, { userId, branchName: "north" })
  yield* say(north.id, "What if we went to Porto first?")
  yield* sessions.update(north.id, { userId, variables: { days: 4, city: "Porto", boat: true } })
  yield* say(trip, "And which museum is open on Monday?")
  yield* sessions.update(trip, { userId, variables: { days: 5, city: "Lisbon" } })
  yield* Console.log(BranchTree.toText(yield* branches.tree(trip, { userId })))

  // A merge keeps both sides; a policy, a function or a model resolves conflicts.
  const merged = yield* branches.merge(trip, north.id, {
    userId,
    strategy: MergeStrategy.threeWay({ conflict: "theirs" })
  })
  yield* Console.log("merged:", merged.turns.length, "turns,", merged.session.variables)

  const again = yield* branches.merge(trip, north.id, {
    userId,
    strategy: MergeStrategy.threeWay({ conflict: "theirs" })
  })
  yield* Console.log("merged again:", again.isNew ? "something" : "nothing new")
})

const goingBack = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const branches = yield* BranchManager.BranchManager
  const before = yield* sessions.checkpoint(trip, { userId, name: "before the detour" })
  yield* say(trip, "Let us fly to the Azores instead.")
  const after = yield* sessions.checkpoint(trip, { userId, name: "after the detour" })

  const { turns } = yield* branches.diff(before.id, after.id, { userId })
  yield* Console.log("the detour:", turns?.added.length ?? 0, "turns more")

  const back = yield* sessions.restore(before.id, { userId })
  const [last] = yield* sessions.turns(trip, { userId, last: 1 })
  yield* Console.log(`back at turn ${back.depth}:`, last?.role, "-", last?.content.slice(0, 60))
})

const together = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const table = yield* sessions.create({ userId })
  const planners = yield* GroupSession.make({
    participants: [
      AgentParticipant.make(Agent.make("cook", { system: "You know the restaurants." })),
      AgentParticipant.make(Agent.make("clerk", { system: "You watch the budget." }))
    ],
    termination: GroupTermination.maxTurns(3)
  })
  const outcome = yield* GroupSession.run(planners, table.id, "Where do we eat on Friday?", { userId })
  yield* Console.log("the group ended by", outcome.reason, "after", outcome.turns.length, "turns")

  const { ofUser } = yield* SessionAnalytics.SessionAnalytics
  const report = yield* ofUser(userId)
  yield* Console.log(`${report.sessions} sessions, ${report.totalTurns} turns, by`, report.agentsUsed.join(", "))
})

const sessions = Sessions.layer()
const layer = Agents.layerWith({ sessions }).pipe(Layer.provideMerge(sessions), Layer.provide(OfflineModel.layer()))

Effect.runPromise(Effect.provide(Effect.all([branching, goingBack, together], { discard: true }), layer))
