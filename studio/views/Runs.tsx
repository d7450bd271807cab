import { linkTo } from "../lib/hooks.js"
import { ViewHead } from "../lib/parts.js"
import { Compare } from "../runs/Compare.js"
import { RunList } from "../runs/RunList.js"
import { RunPage } from "../runs/RunPage.js"
import type { ViewProps } from "./index.js"

const Runs = ({ route }: ViewProps) => {
  const [first, left, right] = route.parts
  const back = (
    <a className="button" href={linkTo("runs")}>
      All runs
    </a>
  )
  if (first === "compare" && left !== undefined && right !== undefined) {
    return (
      <>
        <ViewHead title="Compare">{back}</ViewHead>
        <Compare key={`${left} ${right}`} left={left} right={right} />
      </>
    )
  }
  return first === undefined ? (
    <>
      <ViewHead title="Runs" />
      <RunList route={route} />
    </>
  ) : (
    <>
      <ViewHead title="Run">{back}</ViewHead>
      <RunPage key={first} route={route} runId={first} />
    </>
  )
}

export default Runs
