import type { Branch, Checkpoint } from "../../../src/http/api/SessionModels.js"
import { formatNumber } from "../../lib/format.js"
import { linkTo } from "../../lib/hooks.js"
import { Badge, Id, Loaded } from "../../lib/parts.js"
import type { Opened } from "./SessionDetail.js"

/** All branches of a tree, the first session too: each before its children. */
export const branchesOf = (root: Branch): ReadonlyArray<Branch> => {
  const all: Array<Branch> = []
  const open: Array<Branch> = [root]
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    all.push(branch)
    open.push(...branch.children.toReversed())
  }
  return all
}

/** The turns that a branch wrote itself, among those of the longest one. */
const Extent = ({
  branch,
  checkpoints,
  most
}: {
  readonly branch: Branch
  readonly most: number
  readonly checkpoints: ReadonlyArray<Checkpoint>
}) => {
  const share = (depth: number) => (100 * depth) / Math.max(1, most)
  const from = branch.fork?.depth ?? 0
  return (
    <div className="timeline" aria-hidden="true">
      <span className="shared" style={{ left: 0, width: `${share(from)}%` }} />
      <span
        className="holds"
        style={{ left: `${share(from)}%`, width: `${share(Math.max(0, branch.depth - from))}%` }}
      />
      {checkpoints.map(({ depth, id, name }) => (
        <span key={id} className="tick" title={name} style={{ left: `calc(${share(depth)}% - 1px)` }} />
      ))}
    </div>
  )
}

const MOST_DEEP = 12

const Node = ({
  branch,
  depth,
  most,
  opened
}: {
  readonly branch: Branch
  readonly depth: number
  readonly most: number
  readonly opened: Opened
}) => {
  const { session } = opened
  const isThis = branch.sessionId === session.id
  return (
    <li>
      <div className={isThis ? "branch this" : "branch"}>
        <div className="row">
          <a href={linkTo("sessions", [branch.sessionId])} aria-current={isThis ? "true" : undefined}>
            {branch.branchName ?? <Id id={branch.sessionId} />}
          </a>
          {branch.status === undefined ? <Badge tone="plain">not here</Badge> : <Badge>{branch.status}</Badge>}
          <span className="hint">
            {branch.depth === 1 ? "1 turn" : `${formatNumber(branch.depth)} turns`}
            {branch.fork === undefined ? "" : `, forked after turn ${formatNumber(branch.fork.depth)}`}
          </span>
          {isThis || branch.status === undefined ? null : (
            <a href={linkTo("sessions", [session.id], { tab: "merge", from: branch.sessionId })}>Merge into this one</a>
          )}
        </div>
        <Extent branch={branch} most={most} checkpoints={isThis ? (opened.checkpoints.data?.checkpoints ?? []) : []} />
      </div>
      {branch.children.length === 0 ? null : (
        <ul className={depth < MOST_DEEP ? "branches" : "branches deep"}>
          {branch.children.map((child) => (
            <Node key={child.sessionId} branch={child} depth={depth + 1} most={most} opened={opened} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** The tree of a conversation: each branch with where it began, and how far it went. */
export const BranchList = ({ opened }: { readonly opened: Opened }) => (
  <Loaded query={opened.tree}>
    {({ isComplete, root }) => (
      <>
        {isComplete ? null : <p className="note">The tree has more branches: the oldest ones are not shown.</p>}
        <ul className="branches" aria-label="Branches">
          <Node
            branch={root}
            depth={0}
            most={branchesOf(root).reduce((most, { depth }) => Math.max(most, depth), 1)}
            opened={opened}
          />
        </ul>
      </>
    )}
  </Loaded>
)
