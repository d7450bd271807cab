/** Runs commands, one of them past its timeout, and reports handles and zombies before and after. */
import * as Fs from "node:fs"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import type * as ProcessRequest from "../../../src/builtin/process/ProcessRequest.js"
import * as ProcessRun from "../../../src/builtin/process/ProcessRun.js"
import { eventually } from "../Processes.js"
import * as Programs from "../Programs.js"

export interface Said {
  readonly before: number
  readonly after: number
  readonly zombies: number
}

const handles = (): number => process.getActiveResourcesInfo().filter((name) => /Pipe|Process/.test(name)).length

const zombies = (): number =>
  Fs.readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
    .split(" ")
    .filter((child) => child.trim() !== "" && / Z /.test(Fs.readFileSync(`/proc/${child}/stat`, "utf8"))).length

Programs.main<Pick<ProcessRun.Options, "isolation">>(({ input, say }) =>
  Effect.gen(function* () {
    const service = yield* ProcessRun.make(input)
    const sh = (script: string, limits: ProcessRequest.Request["limits"] = {}) =>
      service.run({ command: "sh", args: ["-c", script], limits })
    const before = handles()
    yield* sh("echo")
    yield* Effect.ignore(sh("sleep 100", { timeout: "100 millis" }))
    yield* eventually(() => handles() <= before)
    yield* say({ before, after: handles(), zombies: zombies() } satisfies Said)
  }).pipe(Effect.provide(NodeContext.layer))
)
