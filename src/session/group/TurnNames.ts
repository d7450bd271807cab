/**
 * Checks the participant names in the options of turn managers.
 *
 * @private
 * @since 0.1.0
 */
import { nearest } from "../../internal/text/Nearest.js"
import type { Member } from "./GroupParticipant.js"

/** The description for messages. */
export const quote = (name: string): string => JSON.stringify(name.slice(0, 64))

/** Describes the first name that no member has. */
export const describeUnknown = (names: ReadonlyArray<string>, members: ReadonlyArray<Member>): string | undefined => {
  const known = members.map((member) => member.name)
  const name = names.find((one) => !known.includes(one))
  if (name === undefined) return undefined
  const similar = nearest(name, known)
  const hint =
    similar === undefined ? `the group has ${known.map(quote).join(", ")}` : `did you mean ${quote(similar)}?`
  return `it names ${quote(name)}, which is not in the group; ${hint}`
}
