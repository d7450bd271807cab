import type { SessionInfo } from "../../../src/http/api/SessionModels.js"

/** What a session is called: its title, which branches share, and the name of the branch. */
export const titleOf = ({ branchName, metadata }: Pick<SessionInfo, "branchName" | "metadata">): string | undefined => {
  const { title } = metadata
  const names = [typeof title === "string" ? title : "", branchName ?? ""].filter((name) => name !== "")
  return names.length === 0 ? undefined : names.join(" · ")
}
