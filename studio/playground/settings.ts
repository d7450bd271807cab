/** What a person chose for the runs of the playground, as the address has it and as a run takes it. */
import type { Route } from "../lib/hooks.js"

const numbers = ["temperature", "topP", "maxTokens", "seed"] as const
const limits = ["maxModelCalls", "maxToolCalls", "maxCostUsd"] as const

export const fields: ReadonlyArray<{
  readonly name: (typeof numbers)[number] | (typeof limits)[number]
  readonly title: string
  readonly min: number
  readonly max?: number
  readonly step: number | "any"
}> = [
  { name: "temperature", title: "Temperature", min: 0, max: 2, step: "any" },
  { name: "topP", title: "Top p", min: 0, max: 1, step: "any" },
  { name: "maxTokens", title: "Most tokens of an answer", min: 1, step: 1 },
  { name: "seed", title: "Seed", min: 0, step: 1 },
  { name: "maxModelCalls", title: "Most model calls", min: 0, step: 1 },
  { name: "maxToolCalls", title: "Most tool calls", min: 0, step: 1 },
  { name: "maxCostUsd", title: "Most dollars", min: 0, step: "any" }
]

const chosen = (params: URLSearchParams, names: ReadonlyArray<string>): Record<string, number> | undefined => {
  const found = names.flatMap((name) => {
    const text = params.get(name)
    const value = text === null || text.trim() === "" ? Number.NaN : Number(text)
    return Number.isFinite(value) ? [[name, value] as const] : []
  })
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
export const reasoningEfforts: ReadonlyArray<string> = efforts

/** The settings and the policy of a run. */
export const requested = ({ params }: Route) => {
  const given = chosen(params, numbers)
  const reasoning = efforts.find((effort) => effort === params.get("reasoning"))
  const bounds = chosen(params, limits)
  const model = params.get("model") ?? ""
  const strategy = params.get("strategy") ?? ""
  const policy = {
    ...(bounds === undefined ? {} : { limits: bounds }),
    ...(model === "" ? {} : { model }),
    ...(strategy === "" ? {} : { strategy })
  }
  return {
    ...(given === undefined && reasoning === undefined
      ? {}
      : { settings: { ...given, ...(reasoning === undefined ? {} : { reasoning }) } }),
    ...(Object.keys(policy).length === 0 ? {} : { policy })
  }
}
