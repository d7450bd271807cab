import * as sdk from "ai"
import { maker } from "./ai-sdk.mjs"

export const make = maker({ sdk, version: "v4", compatible: () => import("@ai-sdk/openai-compatible") })
