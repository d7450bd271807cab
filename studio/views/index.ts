/** The views, in the order of the navigation. Each is loaded when it is opened. */
import { type ComponentType, lazy } from "react"
import type { Route } from "../lib/hooks.js"

export interface ViewProps {
  readonly route: Route
}

export interface View {
  /** Its part of the address. */
  readonly name: string
  readonly title: string
  readonly group: "Work" | "Data" | "Server"
  readonly Component: ComponentType<ViewProps>
}

const view = (
  group: View["group"],
  name: string,
  title: string,
  load: () => Promise<{ readonly default: ComponentType<ViewProps> }>
): View => ({ group, name, title, Component: lazy(load) })

export const views: ReadonlyArray<View> = [
  view("Work", "runs", "Runs", () => import("./Runs.js")),
  view("Work", "playground", "Playground", () => import("./Playground.js")),
  view("Work", "inbox", "Inbox", () => import("./Inbox.js")),
  view("Work", "durable", "Durable runs", () => import("./Durable.js")),
  view("Data", "sessions", "Sessions", () => import("./Sessions.js")),
  view("Data", "memory", "Memory", () => import("./Memory.js")),
  view("Data", "tools", "Skills and tools", () => import("./Tools.js")),
  view("Data", "prompts", "Prompts", () => import("./Prompts.js")),
  view("Server", "agents", "Agents", () => import("./Agents.js")),
  view("Server", "governance", "Governance", () => import("./Governance.js")),
  view("Server", "evals", "Evals", () => import("./Evals.js"))
]
