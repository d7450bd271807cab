/** The connection and the caller, for every view. */
import { createContext, useContext } from "react"
import type { Connection } from "./client.js"

export interface Session {
  readonly connection: Connection
  readonly userId: string | undefined
  readonly scopes: ReadonlyArray<string>
  readonly signOut: () => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export const useSession = (): Session => {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error("There is no session")
  return session
}

export const useConnection = (): Connection => useSession().connection
