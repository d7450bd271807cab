import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Ids, Tool } from "effect-lexigram"
import { RunSchedules, Runs, Scheduler } from "effect-lexigram/agent"
import { Application } from "effect-lexigram/application"
import { Dataset, Experiment, Task, TextScorer } from "effect-lexigram/eval"
import { CostEstimator } from "effect-lexigram/llm"
import { SqlExperimentStore, SqlScheduleStore } from "effect-lexigram/persistence"
import { TestModel } from "effect-lexigram/testing"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"

const HOSTILE = "<img src=x onerror=alert(1)>"

const refund = Tool.make("refund", {
  description: "Refunds an amount",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount}`)
})

const agents = [Agent.make("clerk", { system: "You help.", tools: [refund] })]
const ann = Ids.UserId.make("ann")
const bob = Ids.UserId.make("bob")

const model = TestModel.layer(({ messages }) => {
  const asked = JSON.stringify(messages.at(-1))
  return asked.includes("refund") && !asked.includes("refunded")
    ? { calls: [{ name: "refund", params: { amount: 5 } }] }
    : { text: "done", usage: { inputTokens: 1000, outputTokens: 200 } }
})

/** A desk on SQLite with budgets, schedules and experiments, of which something is already there. */
const desk = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-studio-desk-"))),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
  )
  const application = Application.layerSqlite(agents, {
    file: Path.join(folder, "desk.db"),
    audit: true,
    governance: {
      monthlyBudget: 10,
      rpmLimit: 600,
      resourceUnits: [
        { name: "runs", kind: "requests", window: "1 hour", quotas: { "*": { limit: 10, softThresholdPct: 0.8 } } }
      ]
    }
  }).pipe(Layer.provide([model, CostEstimator.layerPrices({ "test-model": { input: 300, output: 1500 } })]))
  const layer = Scheduler.layer({ agents }).pipe(
    Layer.provide(SqlScheduleStore.layerMigrated),
    Layer.merge(SqlExperimentStore.layerMigrated),
    Layer.provideMerge(application)
  )
  const services = yield* Layer.build(layer)
  return { services: Layer.succeedContext(services) as Layer.Layer<any>, context: services as Context.Context<any> }
})

const experiment = (name: string) =>
  Effect.gen(function* () {
    const cases = Array.from({ length: 60 }, (_, at) => ({ id: `case-${at}`, input: `${at}`, expected: `${at}` }))
    const dataset = yield* Dataset.make("numbers", [...cases, { id: HOSTILE, input: "x", expected: HOSTILE }])
    const made = yield* Experiment.make(name, {
      dataset,
      variants: [
        Task.make("plain", (input: string) => Effect.succeed(Number(input) % 3 === 0 ? "?" : input)),
        Task.make("better", (input: string) => Effect.succeed(input === "x" ? HOSTILE : input))
      ],
      scorers: [TextScorer.exact]
    })
    return yield* Experiment.run(made, { id: name })
  })

const textOf = (page: Page, selector: string) => Effect.promise(() => page.locator(selector).allInnerTexts())

type Page = Chromium.Opened["page"]

const isGood = ({ page, problems }: Chromium.Opened, name: string) =>
  Effect.gen(function* () {
    yield* StudioPages.picture(page, name)
    assert.deepStrictEqual(yield* StudioPages.violations(page), [])
    assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
    assert.deepStrictEqual(problems, [])
  })

Chromium.suite((open) => {
  it.scopedLive("governance: budgets, quotas, and the audit log of the caller alone", () =>
    Effect.gen(function* () {
      const { context, services } = yield* desk
      for (const userId of [ann, ann, bob]) {
        yield* Effect.provide(
          Effect.flatMap(Runs.start({ agent: "clerk", input: HOSTILE, userId }), ({ runId }) =>
            Runs.await(runId, { userId })
          ),
          context
        )
      }
      const server = yield* StudioPages.serve({ agents, services, userId: ann })
      const opened = yield* open
      const { page } = opened
      yield* StudioPages.enter(opened, server, "#/governance")
      yield* Effect.promise(() => page.getByRole("table").waitFor())
      const budgets = yield* Effect.promise(() => page.getByRole("region", { name: "Budgets and quotas" }).innerText())
      assert.include(budgets, "of $10.00")
      assert.match(budgets, /runs \(requests\)\s+2 of 10/)
      const rows = yield* textOf(page, "tbody tr")
      assert.isAbove(rows.length, 2)
      // Two runs of the caller, and nothing of the other user.
      assert.lengthOf(
        rows.filter((row) => row.includes("agent_execution")),
        2
      )
      yield* isGood(opened, "governance")
      yield* Effect.promise(() => page.getByLabel("What").selectOption("llm_call"))
      yield* Effect.promise(() => page.waitForURL(/type=llm_call/))
      yield* Effect.promise(() => page.getByRole("cell", { name: "agent_execution" }).waitFor({ state: "detached" }))
      yield* Effect.promise(() => page.getByLabel("Outcome").selectOption("denied"))
      yield* Effect.promise(() => page.getByText("nothing fits").waitFor())
    })
  )

  it.scopedLive("durable: what waits, its journal, and schedules", () =>
    Effect.gen(function* () {
      const { context, services } = yield* desk
      const { runId } = yield* Effect.provide(Runs.start({ agent: "clerk", input: "refund", userId: ann }), context)
      yield* Runs.events(runId, { userId: ann }).pipe(
        Stream.takeUntil(({ _tag }) => _tag === "ApprovalRequested"),
        Stream.runDrain,
        Effect.provide(context)
      )
      const schedules = Context.get(context, RunSchedules.RunSchedules)
      yield* schedules.create({ id: "nightly", agent: "clerk", input: "hello", cron: "0 3 * * *", userId: ann })
      yield* schedules.create({ id: "of-bob", agent: "clerk", input: "hello", every: "1 hour", userId: bob })
      const server = yield* StudioPages.serve({ agents, services, userId: ann })
      const opened = yield* open
      const { page } = opened
      yield* StudioPages.enter(opened, server, "#/durable")
      yield* Effect.promise(() => page.getByRole("link", { name: "approval of refund" }).waitFor())
      yield* Effect.promise(() => page.getByRole("cell", { name: "0 3 * * * (UTC)" }).waitFor())
      assert.strictEqual(yield* Effect.promise(() => page.getByText("of-bob").count()), 0)
      yield* isGood(opened, "durable")
      yield* Effect.promise(() => page.getByRole("button", { name: "Pause" }).click())
      yield* Effect.promise(() => page.getByText("paused", { exact: true }).waitFor())
      yield* Effect.promise(() => page.getByRole("button", { name: "Run now" }).click())
      yield* Effect.promise(() =>
        page
          .getByRole("row", { name: /nightly/ })
          .getByRole("link")
          .waitFor()
      )
      yield* Effect.promise(() => page.getByRole("button", { name: "Remove" }).click())
      // By keyboard: the dialog has the focus, and Escape closes it.
      yield* Effect.promise(() => page.getByRole("dialog", { name: "Remove the schedule?" }).waitFor())
      yield* Effect.promise(() => page.keyboard.press("Escape"))
      yield* Effect.promise(() => page.getByRole("dialog").waitFor({ state: "detached" }))
      assert.strictEqual((yield* schedules.list({ userId: ann })).schedules.length, 1)
      yield* Effect.promise(() => page.getByRole("button", { name: "Remove" }).click())
      yield* Effect.promise(() => page.getByRole("dialog").getByRole("button", { name: "Remove" }).click())
      yield* Effect.promise(() => page.getByText("You have no schedules.").waitFor())
      yield* Effect.promise(() => page.getByRole("link", { name: "Journal" }).first().click())
      yield* Effect.promise(() => page.getByText("By the names of the steps").waitFor())
      assert.isAbove((yield* textOf(page, "tbody tr")).length, 0)
      yield* isGood(opened, "journal")
      // A run of somebody else is none.
      const other = yield* Effect.provide(Runs.start({ agent: "clerk", input: "x", userId: bob }), context)
      yield* Effect.promise(() => page.goto(`${server.url}/studio/#/durable/journal/${other.runId}`))
      yield* Effect.promise(() => page.getByText("The caller has no run with this id").waitFor())
      yield* Effect.provide(Runs.interrupt(runId, { userId: ann }), context)
    })
  )

  it.scopedLive("durable: a run is forked from a step, with other settings", () =>
    Effect.gen(function* () {
      const { context, services } = yield* desk
      const { runId } = yield* Effect.provide(Runs.start({ agent: "clerk", input: "hello", userId: ann }), context)
      yield* Effect.provide(Runs.await(runId, { userId: ann }), context)
      const server = yield* StudioPages.serve({ agents, services, userId: ann })
      const opened = yield* open
      const { page } = opened
      yield* StudioPages.enter(opened, server, `#/runs/${runId}`)
      yield* Effect.promise(async () => {
        await page.getByRole("tab", { name: "Fork" }).click()
        await page.getByRole("spinbutton", { name: "Temperature" }).fill("0.25")
        await page.getByRole("textbox", { name: "Other input" }).fill(HOSTILE)
      })
      yield* isGood(opened, "run-fork")
      yield* Effect.promise(async () => {
        await page.getByRole("button", { name: "Start the fork" }).click()
        await page.getByText("before step 1").waitFor()
        assert.notInclude(page.url(), runId)
        await page.getByRole("button", { name: /Model.*step 1/ }).click()
        await page.getByText("Settings", { exact: true }).click()
        await page.getByText('{"settings":{"temperature":0.25}}').waitFor()
      })
    })
  )

  it.scopedLive("evals: experiments, distributions, comparison, and case by case", () =>
    Effect.gen(function* () {
      const { context, services } = yield* desk
      yield* Effect.provide(experiment("first"), context)
      yield* Effect.provide(experiment("second"), context)
      const server = yield* StudioPages.serve({ agents, services })
      const opened = yield* open
      const { page } = opened
      yield* StudioPages.enter(opened, server, "#/evals")
      yield* Effect.promise(() => page.getByRole("link", { name: "second" }).waitFor())
      yield* isGood(opened, "evals")
      yield* Effect.promise(() => page.getByRole("link", { name: "second" }).click())
      yield* Effect.promise(() => page.getByRole("region", { name: "Compared" }).getByRole("table").waitFor())
      const variants = yield* Effect.promise(() => page.getByRole("region", { name: "Variants" }).innerText())
      assert.match(variants, /plain\s+exact\s+0\.656/)
      assert.match(variants, /better\s+exact\s+1\.000/)
      const bins = yield* Effect.promise(() =>
        page.getByRole("img", { name: /plain, exact/ }).getAttribute("aria-label")
      )
      assert.include(bins, "0 to 0.1: 21;")
      assert.include(bins, "0.9 to 1: 40")
      assert.match(
        yield* Effect.promise(() => page.getByRole("region", { name: "Compared" }).innerText()),
        /better\s+plain\s+exact\s+\+0\.344/
      )
      const cases = page.getByRole("region", { name: "Case by case" })
      assert.include(yield* Effect.promise(() => cases.innerText()), "1 to 50 of 61")
      yield* Effect.promise(() => cases.getByRole("button", { name: "Higher scores" }).click())
      yield* Effect.promise(() => cases.getByText("51 to 61 of 61").waitFor())
      yield* Effect.promise(() => cases.getByRole("button", { name: "Lower scores" }).click())
      yield* Effect.promise(() => cases.getByText("1 to 50 of 61").waitFor())
      const row = cases.getByRole("row").filter({ hasText: HOSTILE })
      yield* Effect.promise(() => row.getByRole("button", { name: "Show" }).first().click())
      yield* isGood(opened, "experiment")
      yield* Effect.promise(() => page.getByLabel("With").selectOption({ index: 1 }))
      yield* Effect.promise(() => page.waitForURL(/baseline=/))
    })
  )
})
