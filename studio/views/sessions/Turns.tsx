import { useState } from "react"
import type { Branch, Checkpoint } from "../../../src/http/api/SessionModels.js"
import type { WholeTurn } from "../../../src/studio/api/StudioSessionApi.js"
import { linkTo, useAction, useQuery } from "../../lib/hooks.js"
import { Badge, Empty, Id, Loaded, Problem, VirtualList } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"
import { branchesOf } from "./BranchList.js"
import type { Opened } from "./SessionDetail.js"
import { Turn } from "./Turn.js"

interface Page {
  readonly turns: ReadonlyArray<WholeTurn>
  readonly next?: { readonly sessionId: WholeTurn["sessionId"]; readonly turnId: WholeTurn["id"] } | undefined
}

const SIZE = 50

/** What was kept or begun after a turn. */
const Marks = ({
  branches,
  checkpoints
}: {
  readonly checkpoints: ReadonlyArray<Checkpoint>
  readonly branches: ReadonlyArray<Branch>
}) =>
  checkpoints.length + branches.length === 0 ? null : (
    <div className="marks">
      {checkpoints.map(({ id, kind, name }) => (
        <span key={id}>
          <Badge tone="plain">checkpoint</Badge> {name ?? kind}
        </span>
      ))}
      {branches.map(({ branchName, sessionId }) => (
        <span key={sessionId}>
          <Badge tone="busy">branch</Badge>{" "}
          <a href={linkTo("sessions", [sessionId])}>{branchName ?? <Id id={sessionId} />}</a>
        </span>
      ))}
    </div>
  )

/** The turns of a session, the oldest first, with the checkpoints and branches between them. */
export const Turns = ({ opened }: { readonly opened: Opened }) => {
  const { checkpoints, round, session, tree } = opened
  const { studio } = useConnection()
  const path = { sessionId: session.id }
  const [older, setOlder] = useState<ReadonlyArray<Page>>([])
  const { act, error, isBusy } = useAction()
  // Who reads earlier turns keeps them in their place.
  const every = older.length === 0 ? 5_000 : undefined
  const first = useQuery(
    `turns ${session.id} ${round}`,
    () => studio.sessions.wholeTurns({ path, urlParams: { limit: SIZE } }),
    { every }
  )
  const kept = checkpoints.data?.checkpoints ?? []
  const begun = tree.data === undefined ? [] : branchesOf(tree.data.root)
  return (
    <Loaded query={first}>
      {(page: Page) => {
        const pages = [...older, page]
        const turns = pages.flatMap((one) => one.turns)
        const next = pages[0]?.next
        if (turns.length === 0) return <Empty>Nobody has said anything yet.</Empty>
        return (
          <>
            <Problem error={error} />
            {next === undefined ? null : (
              <div>
                <button
                  type="button"
                  disabled={isBusy}
                  onClick={() =>
                    void act(studio.sessions.wholeTurns({ path, urlParams: { limit: SIZE, before: next } }), (found) =>
                      setOlder((known) => [found, ...known])
                    )
                  }
                >
                  Show earlier turns
                </button>
              </div>
            )}
            <VirtualList
              label="Turns"
              items={turns}
              keyOf={({ id, sessionId }) => `${sessionId} ${id}`}
              estimate={110}
              follow={older.length === 0}
              render={(turn) => (
                <>
                  <Turn turn={turn} />
                  <Marks
                    checkpoints={kept.filter(({ depth }) => depth === turn.depth)}
                    branches={begun.filter(
                      ({ fork }) => fork?.turn.turnId === turn.id && fork.turn.sessionId === turn.sessionId
                    )}
                  />
                </>
              )}
            />
          </>
        )
      }}
    </Loaded>
  )
}
