import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Readline from "node:readline"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Schedule from "effect/Schedule"
import * as Dataset from "../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../src/eval/Experiment.js"
import * as JsonlExperimentStore from "../../src/eval/record/JsonlExperimentStore.js"
import * as TextScorer from "../../src/eval/scorer/TextScorer.js"
import * as Task from "../../src/eval/Task.js"
import * as CliBundle from "../support/CliBundle.js"
import * as Shared from "../support/Shared.js"

class Bundle extends Context.Tag("test/cli/ServeCommand/Bundle")<Bundle, CliBundle.CliBundle>() {}

/** A server of the command line: the JSON lines that it says, and its end. */
const serve = (cwd: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { main } = yield* Bundle
    const free = args.includes("--port") ? [] : ["--port", "0"]
    const lines = yield* Mailbox.make<any>()
    const ended = yield* Deferred.make<number | NodeJS.Signals | null>()
    let errors = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const child = ChildProcess.spawn(process.execPath, [main, "serve", "--json", ...free, ...args], { cwd })
        Readline.createInterface({ input: child.stdout }).on("line", (line) => lines.unsafeOffer(JSON.parse(line)))
        child.stderr.on("data", (text) => {
          errors += String(text)
        })
        child.on("close", (code, signal) => {
          lines.unsafeDone(Exit.void)
          Deferred.unsafeDone(ended, Exit.succeed(code ?? signal))
        })
        return child
      }),
      (child) =>
        Effect.zipRight(
          Effect.sync(() => child.kill("SIGTERM")),
          Deferred.await(ended)
        )
    )
    return {
      hear: Effect.catchAll(Effect.timeout(lines.take, "40 seconds"), () => Effect.dieMessage(`no line:\n${errors}`)),
      stop: Effect.zipRight(
        Effect.sync(() => child.kill("SIGTERM")),
        Deferred.await(ended)
      ),
      ended: Deferred.await(ended),
      errors: Effect.sync(() => errors)
    }
  })

const get = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url)
    return { status: response.status, body: await response.json() }
  })

Shared.suite("lexigram serve", Layer.scoped(Bundle, CliBundle.make), (test) => {
  Shared.scoped(test)("serves the agents on this machine, and ends with the signal", () =>
    Effect.gen(function* () {
      const { config, folder } = yield* Bundle
      const server = yield* serve(folder(), "--config", config("Desk"), "--user", "bob")
      const { agents, studio, url } = yield* server.hear
      assert.deepStrictEqual(agents, ["clerk", "parrot"])
      assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
      assert.strictEqual((yield* get(`${url}/v1/health`)).status, 200)
      const { body } = yield* get(`${url}/v1/agents`)
      assert.strictEqual(body.agents.length, 2)
      // The link opens the studio.
      const opened = yield* Effect.promise(() => fetch(studio, { redirect: "manual" }))
      assert.strictEqual(opened.status, 303)
      const cookie = String(opened.headers.getSetCookie()[0]).split(";")[0] ?? ""
      const known = yield* Effect.promise(() => fetch(`${url}/studio/api/session`, { headers: { cookie } }))
      assert.deepStrictEqual(yield* Effect.promise(() => known.json()), { userId: "bob", scopes: ["studio"] })
      yield* Effect.repeat(server.errors, {
        until: (errors) => errors.includes(`The next link to the studio: ${url}/studio/?token=`),
        schedule: Schedule.spaced("50 millis")
      })
      // It knows no callers: another host name is another site, or a name that was bound to this machine.
      const far = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            const { port } = new URL(url)
            ChildProcess.execFile(
              process.execPath,
              [
                "-e",
                `require("http").get({ port: ${port}, host: "127.0.0.1", path: "/v1/agents", headers: { host: "evil.example" } }, (r) => console.log(r.statusCode))`
              ],
              (_, out) => resolve(out.trim())
            )
          })
      )
      assert.strictEqual(far, "403")
      assert.strictEqual(yield* server.stop, 143)
    })
  )

  Shared.scoped(test)("shows the experiments of the workspace in the studio", () =>
    Effect.gen(function* () {
      const { config, folder } = yield* Bundle
      const cwd = folder()
      const evals = Path.join(cwd, ".lexigram/evals")
      yield* Effect.gen(function* () {
        const dataset = yield* Dataset.make("echo", [{ input: "a", expected: "a" }])
        const task = Task.make("echo", (input: string) => Effect.succeed(input))
        const experiment = yield* Experiment.make("echoes", {
          dataset,
          variants: [task],
          scorers: [TextScorer.exact]
        })
        yield* Experiment.run(experiment, { id: "echoes-1" })
      }).pipe(Effect.provide(Layer.provide(JsonlExperimentStore.layer({ folder: evals }), NodeContext.layer)))
      const server = yield* serve(cwd, "--config", config("Desk"))
      const { studio, url } = yield* server.hear
      const opened = yield* Effect.promise(() => fetch(studio, { redirect: "manual" }))
      const cookie = String(opened.headers.getSetCookie()[0]).split(";")[0] ?? ""
      const found = yield* Effect.promise(() => fetch(`${url}/studio/api/evals`, { headers: { cookie } }))
      const { experiments } = (yield* Effect.promise(() => found.json())) as {
        readonly experiments: ReadonlyArray<{ readonly id: string }>
      }
      assert.deepStrictEqual(
        experiments.map(({ id }) => id),
        ["echoes-1"]
      )
    })
  )

  Shared.scoped(test)("serves the API alone if it is asked to", () =>
    Effect.gen(function* () {
      const { config, folder } = yield* Bundle
      const server = yield* serve(folder(), "--config", config("Desk"), "--no-studio")
      const said = yield* server.hear
      assert.notProperty(said, "studio")
      assert.strictEqual((yield* get(`${said.url}/studio/api/access`)).status, 404)
    })
  )

  Shared.scoped(test)("refuses a port that is taken, and a host that everybody reaches without knowing callers", () =>
    Effect.gen(function* () {
      const { config, folder } = yield* Bundle
      const first = yield* serve(folder(), "--config", config("Desk"))
      const { url } = yield* first.hear
      const second = yield* serve(folder(), "--config", config("Desk"), "--port", new URL(url).port)
      assert.strictEqual(yield* second.ended, 1)
      assert.include(yield* second.errors, "--port")
      const open = yield* serve(folder(), "--config", config("Desk"), "--host", "0.0.0.0")
      assert.strictEqual(yield* open.ended, 3)
      assert.include(yield* open.errors, "Authentication")
    })
  )

  Shared.scoped(test)("begins again when a file changes, also one that could not be loaded", () =>
    Effect.gen(function* () {
      const { config, folder } = yield* Bundle
      const cwd = folder()
      const file = Path.join(cwd, "lexigram.config.mjs")
      const write = (text: string) => Effect.sync(() => Fs.writeFileSync(file, text))
      const desk = JSON.stringify(config("Desk"))
      yield* write(`export { default } from ${desk}`)
      const server = yield* serve(cwd, "--watch")
      const first = yield* server.hear
      assert.strictEqual(first.agents.length, 2)
      const opened = yield* Effect.promise(() => fetch(first.studio, { redirect: "manual" }))
      const session = String(opened.headers.getSetCookie()[0]).split(";")[0]?.split("=")[1]
      yield* write("export default {}")
      yield* Effect.repeat(server.errors, {
        until: (errors) => errors.includes("CliConfig.make"),
        schedule: Schedule.spaced("50 millis")
      })
      yield* write(
        `import desk from ${desk}\nexport default { ...desk, agents: desk.agents.slice(1) }\n// ${"x".repeat(10)}`
      )
      const next = yield* server.hear
      assert.deepStrictEqual(next.agents, ["parrot"])
      // A browser that the studio knew is known to the next process.
      const cookie = `lexigram_studio_${new URL(next.url).port}=${session}`
      const known = yield* Effect.promise(() => fetch(`${next.url}/studio/api/session`, { headers: { cookie } }))
      assert.strictEqual(known.status, 200)
      assert.strictEqual(yield* server.stop, 143)
    })
  )
})
