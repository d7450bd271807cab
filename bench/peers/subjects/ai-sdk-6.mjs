import * as sdk from "ai-6"
import { maker } from "./ai-sdk.mjs"

export const make = maker({ sdk, version: "v3", compatible: () => import("@ai-sdk/openai-compatible-2") })
