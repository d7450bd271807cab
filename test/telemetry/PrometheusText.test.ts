import { assert, describe, it } from "@effect/vitest"
import * as FC from "effect/FastCheck"
import * as MetricBoundaries from "effect/MetricBoundaries"
import type * as MetricHook from "effect/MetricHook"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as MetricPair from "effect/MetricPair"
import * as MetricRegistry from "effect/MetricRegistry"
import * as PrometheusText from "../../src/telemetry/PrometheusText.js"
import * as PrometheusParser from "../support/PrometheusParser.js"

type Tags = Readonly<Record<string, string>>

/** One metric of a page, with the values it was given, in a registry of its own: pages of all that is registered are no business of it. */
const pair = <Type extends MetricKey.MetricKey<any>>(
  key: Type,
  tags: Tags,
  update: (metric: MetricHook.MetricHook.Untyped) => void
): MetricPair.MetricPair.Untyped => {
  const tagged = MetricKey.taggedWithLabels(
    key as any,
    Object.entries(tags).map(([name, value]) => MetricLabel.make(name, value))
  )
  const metric: MetricHook.MetricHook.Untyped = MetricRegistry.make().get(tagged as MetricKey.MetricKey.Untyped)
  update(metric)
  return MetricPair.make(tagged as any, metric.get())
}

const counter = (name: string, tags: Tags, value: number | bigint, description?: string) =>
  pair(
    (typeof value === "bigint"
      ? MetricKey.counter(name, { bigint: true, incremental: true, description })
      : MetricKey.counter(name, { incremental: true, description })) as any,
    tags,
    (metric) => metric.update(value)
  )
const gauge = (name: string, tags: Tags, value: number) =>
  pair(MetricKey.gauge(name), tags, (metric) => metric.update(value))
const histogram = (name: string, tags: Tags, values: ReadonlyArray<number>, bounds = [1, 2.5, 10]) =>
  pair(MetricKey.histogram(name, MetricBoundaries.fromIterable(bounds)), tags, (metric) => {
    for (const value of values) metric.update(value)
  })

const both = (pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>) => {
  const text = PrometheusText.format(pairs, "text")
  const open = PrometheusText.format(pairs, "openmetrics")
  return {
    text,
    open,
    parsed: PrometheusParser.parse(text, "text"),
    parsedOpen: PrometheusParser.parse(open, "openmetrics")
  }
}

describe("PrometheusText", () => {
  it("ends counters in _total, once", () => {
    const { open, text } = both([counter("agent.runs.total", { agent: "a" }, 3, "Runs"), counter("calls", {}, 5n)])
    assert.strictEqual(
      text,
      `# TYPE agent_runs_total counter
# HELP agent_runs_total Runs
agent_runs_total{agent="a"} 3
# TYPE calls_total counter
calls_total 5
`
    )
    assert.strictEqual(
      open,
      `# TYPE agent_runs counter
# HELP agent_runs Runs
agent_runs_total{agent="a"} 3
# TYPE calls counter
calls_total 5
# EOF
`
    )
  })

  it("renders cumulative histograms up to +Inf, with sum and count", () => {
    const { open, text } = both([histogram("h.ms", { b: "2", a: "1" }, [0.5, 1, 2, 9, 100])])
    assert.strictEqual(
      text,
      `# TYPE h_ms histogram
h_ms_bucket{a="1",b="2",le="1"} 2
h_ms_bucket{a="1",b="2",le="2.5"} 3
h_ms_bucket{a="1",b="2",le="10"} 4
h_ms_bucket{a="1",b="2",le="+Inf"} 5
h_ms_sum{a="1",b="2"} 112.5
h_ms_count{a="1",b="2"} 5
`
    )
    assert.include(open, `h_ms_bucket{a="1",b="2",le="1.0"} 2\n`)
    assert.include(open, `h_ms_bucket{a="1",b="2",le="+Inf"} 5\n`)
  })

  it("renders a decreasing value as a gauge, frequencies as counters, summaries with quantiles", () => {
    const falling = pair(MetricKey.counter("balance"), {}, (metric) => metric.update(-2))
    const words = pair(MetricKey.frequency("words"), { x: "1" }, (metric) => {
      for (const word of ["b", "a", "b"]) metric.update(word)
    })
    const summary = pair(
      MetricKey.summary({ name: "size", maxAge: "1 hour", maxSize: 10, error: 0, quantiles: [0.5, 1] }),
      {},
      (metric) => {
        for (const value of [1, 2, 3]) metric.update([value, Date.now()])
      }
    )
    const { parsed, parsedOpen } = both([falling, words, summary])
    for (const families of [parsed, parsedOpen]) {
      assert.deepStrictEqual(
        Array.from(families.values(), ({ name, type }) => `${type} ${name.replace(/_total$/, "")}`),
        ["gauge balance", "summary size", "counter words"]
      )
      assert.strictEqual(families.get("balance")?.samples[0]?.value, -2)
    }
    assert.deepStrictEqual(parsed.get("words_total")?.samples, [
      { name: "words_total", labels: { key: "a", x: "1" }, value: 1 },
      { name: "words_total", labels: { key: "b", x: "1" }, value: 2 }
    ])
    const size = parsed.get("size")!.samples
    assert.deepStrictEqual(size.map((sample) => sample.labels["quantile"]).slice(0, 2), ["0.5", "1"])
    assert.deepStrictEqual(
      size.slice(2).map(({ name, value }) => [name, value]),
      [
        ["size_sum", 6],
        ["size_count", 3]
      ]
    )
  })

  it("renders a summary without values, and non-numeric values", () => {
    const empty = pair(
      MetricKey.summary({ name: "s", maxAge: "1 hour", maxSize: 10, error: 0, quantiles: [0.5] }),
      {},
      () => {}
    )
    const { text } = both([empty, gauge("a", {}, Infinity), gauge("b", {}, -Infinity), gauge("c", {}, Number.NaN)])
    assert.include(text, `s{quantile="0.5"} NaN\n`)
    assert.include(text, "\na +Inf\n".slice(1))
    assert.include(text, "\nb -Inf\n")
    assert.include(text, "\nc NaN\n")
    both([gauge("huge", {}, 1e300), gauge("tiny", {}, 5e-324), counter("big", {}, 2n ** 90n)])
  })

  it("makes units a suffix of the name, and keeps other labels", () => {
    const { open, parsed } = both([
      histogram("gen_ai.client.operation.duration", { unit: "s" }, [1]),
      histogram("gen_ai.client.token.usage", { unit: "{token}" }, [1]),
      counter("read", { unit: "By" }, 1),
      gauge("job_seconds", { time_unit: "seconds" }, 1),
      gauge("ordered", { unit: "kitchen" }, 1)
    ])
    assert.deepStrictEqual(Array.from(parsed.keys()), [
      "gen_ai_client_operation_duration_seconds",
      "gen_ai_client_token_usage",
      "job_seconds",
      "ordered",
      "read_bytes_total"
    ])
    assert.deepStrictEqual(parsed.get("ordered")?.samples[0]?.labels, { unit: "kitchen" })
    assert.deepStrictEqual(parsed.get("read_bytes_total")?.samples[0]?.labels, {})
    assert.include(open, "# UNIT gen_ai_client_operation_duration_seconds seconds\n")
  })

  it("round-trips hostile label values", () => {
    const values = [
      "",
      '"',
      "\\",
      "\n",
      '\\"',
      "\\n",
      '"} 1\nevil_total{x="',
      "a\r\nb",
      "# EOF",
      "\u2028\u0000\t",
      "ünï😀",
      "x".repeat(10_000)
    ]
    const pairs = values.map((value) => gauge("g", { value, type: value }, 1))
    const { parsed, parsedOpen } = both(pairs)
    for (const families of [parsed, parsedOpen]) {
      assert.deepStrictEqual(Array.from(families.keys()), ["g"])
      assert.sameMembers(
        families.get("g")!.samples.map(({ labels }) => labels["value"]!),
        values
      )
    }
    assert.include(both([gauge("g", { x: "\ud800" }, 1)]).text, "\ufffd")
  })

  it("keeps descriptions on one line", () => {
    const help = 'says "a\\b"\nevil_total 1'
    const { parsed, parsedOpen } = both([counter("c", {}, 1, help)])
    assert.strictEqual(parsed.get("c_total")?.help, help)
    assert.strictEqual(parsedOpen.get("c")?.help, help)
  })

  it("separates or merges names that become equal", () => {
    const { parsed } = both([
      gauge("a.b", {}, 1),
      gauge("a_b", {}, 2),
      counter("a.b", {}, 3),
      counter("x", {}, 1),
      counter("x", {}, 2n, "the same, described"),
      histogram("h", {}, [1]),
      histogram("h", {}, [2]),
      histogram("h", {}, [3], [7]),
      counter("h.count", {}, 1),
      gauge("h_count", {}, 9),
      gauge("l", { "a.b": "1", a_b: "2", le: "3", __name__: "n", "": "e", "1x": "d" }, 1),
      histogram("q", { le: "mine" }, [1]),
      gauge("", {}, 1),
      gauge("9lives", {}, 1),
      counter("_total", {}, 1)
    ])
    const values = (name: string) => parsed.get(name)?.samples.map((sample) => sample.value)
    assert.deepStrictEqual([values("a_b_total"), values("a_b_gauge"), values("a_b_gauge_2")], [[3], [1], [2]])
    assert.deepStrictEqual(values("x_total"), [3])
    const counts = Array.from(parsed.values())
      .filter(({ name, type }) => type === "histogram" && name.startsWith("h"))
      .map(({ samples }) => samples.at(-1)?.value)
    assert.sameMembers(counts, [2, 1])
    assert.deepStrictEqual(parsed.get("l")?.samples[0]?.labels, {
      _: "e",
      _1x: "d",
      _name_: "n",
      a_b: "1;2",
      le: "3"
    })
    assert.strictEqual(parsed.get("q")?.samples[0]?.labels["exported_le"], "mine")
    assert.isTrue(parsed.has("_") && parsed.has("_9lives"))
  })

  it("orders output independently of the metrics", () => {
    const pairs = [
      gauge("b", { x: "2" }, 1),
      gauge("b", { x: "1" }, 1),
      counter("c", {}, 1),
      histogram("a", {}, [1]),
      gauge("a.x", {}, 1)
    ]
    const text = PrometheusText.format(pairs, "text")
    assert.strictEqual(PrometheusText.format([...pairs].reverse(), "text"), text)
    assert.strictEqual(PrometheusText.format([], "text"), "")
    assert.strictEqual(PrometheusText.format([], "openmetrics"), "# EOF\n")
  })

  it("renders a parsable page of any metrics", () => {
    const name = FC.oneof(
      FC.constantFrom(
        "a",
        "a.b",
        "a_b",
        "a_total",
        "a_count",
        "a_sum",
        "a_bucket",
        "a_created",
        "a_seconds",
        "__proto__"
      ),
      FC.string({ unit: "binary", maxLength: 5 })
    )
    const tags = FC.dictionary(
      FC.oneof(FC.constantFrom("le", "quantile", "unit", "key", "__x", "constructor"), FC.string({ maxLength: 4 })),
      FC.oneof(FC.constantFrom("s", "By"), FC.string({ unit: "binary", maxLength: 6 })),
      { maxKeys: 3 }
    )
    const value = FC.double()
    const any = FC.oneof(
      FC.tuple(name, tags, FC.nat()).map(([n, t, v]) => counter(n, t, v)),
      FC.tuple(name, tags, value).map(([n, t, v]) => gauge(n, t, v)),
      FC.tuple(name, tags, FC.array(FC.double({ noNaN: true }), { maxLength: 5 })).map(([n, t, v]) =>
        histogram(n, t, v)
      ),
      FC.tuple(name, tags, FC.array(FC.string({ maxLength: 3 }), { maxLength: 4 })).map(([n, t, v]) =>
        pair(MetricKey.frequency(n), t, (metric) => {
          for (const word of v) metric.update(word)
        })
      )
    )
    FC.assert(
      FC.property(FC.array(any, { maxLength: 12 }), (pairs) => {
        both(pairs)
      }),
      { numRuns: 150 }
    )
  })
})
