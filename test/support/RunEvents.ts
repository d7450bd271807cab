/** Events of runs: given ones, and random ones. */
import * as Arbitrary from "effect/Arbitrary"
import * as FastCheck from "effect/FastCheck"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import type { RunId } from "../../src/domain/Ids.js"

/** Events of a run from their bodies. */
export const of = (
  runId: string,
  bodies: ReadonlyArray<Record<string, unknown>>
): ReadonlyArray<AgentEvent.AgentEvent> =>
  bodies.map((body, seq) => ({ runId, agent: "helper", seq, at: 0, ...body }) as never)

/** One of three ids, so that events meet. */
const near = (id: string): string => `id-${id.length % 3}`

const nearby = (event: AgentEvent.AgentEvent): AgentEvent.AgentEvent => ({
  ...event,
  ...("id" in event ? { id: near(event.id) } : {}),
  ...("toolCallId" in event ? { toolCallId: near(event.toolCallId) } : {})
})

/** Up to 30 events of a run, in any order. */
export const any = (runId: string): FastCheck.Arbitrary<ReadonlyArray<AgentEvent.AgentEvent>> =>
  FastCheck.tuple(FastCheck.array(Arbitrary.make(AgentEvent.AgentEvent), { maxLength: 30 }), FastCheck.boolean()).map(
    ([events, isNear]) =>
      events.map((event, seq) => ({ ...(isNear ? nearby(event) : event), runId: runId as RunId, seq }))
  )
