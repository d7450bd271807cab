/**
 * The datasets of the comparison: small worlds of records that are drawn by a seed. The question asks for an identifier
 * some records away from another one.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { Tool } from "effect-lexigram"
import { Dataset } from "effect-lexigram/eval"

/** The `kind` of `of` is `value`: `DEPOT of PARCEL-12 is DEPOT-417`. */
export interface Fact {
  readonly kind: string
  readonly of: string
  readonly value: string
}

/** What the first call of a tool for an identifier gives instead of the record. */
export type Fault = "fails" | "wrong" | "late"

export interface World {
  readonly question: string
  /** What the tools find. */
  readonly facts: ReadonlyArray<Fact>
  /** Each finds one kind of another one. */
  readonly tools: ReadonlyArray<{ readonly finds: string; readonly of: string }>
  /** By identifier. */
  readonly faults: Readonly<Record<string, Fault>>
}

/** The identifiers that answer the question. */
export type Expected = ReadonlyArray<string>

export const kindOf = (id: string): string => id.split("-")[0] ?? ""

const kinds = ["PARCEL", "DEPOT", "CARRIER", "TARIFF", "INSURER", "DRIVER", "TRUCK", "PORT", "BROKER", "ROUTE"]

const record = ({ kind, of, value }: Fact): string => `Record: the ${kind} of ${of} is ${value}.`

class Unfound extends Schema.TaggedError<Unfound>()("Unfound", { message: Schema.String }) {}

/** The tools of a world, which begin with all of its faults, and the number of calls so far. */
export const open = ({ facts, faults, tools }: World) => {
  const faulted = new Set<string>()
  let calls = 0
  /** What the tool for a kind of a kind gives for a text that ends with an identifier. */
  const find = (finds: string, wants: string, text: string): Effect.Effect<string, Unfound> => {
    calls += 1
    const of = text.match(/\b[A-Z]+-\d+\b/g)?.at(-1)
    const fact = facts.find((one) => one.kind === finds && one.of === of)
    if (of === undefined || kindOf(of) !== wants) {
      return Effect.fail(
        new Unfound({ message: `This finds the ${finds} of a ${wants}; ${of ?? "nothing"} was named` })
      )
    }
    if (fact === undefined) return Effect.succeed(`There is no ${finds} of ${of}.`)
    const key = `${finds} of ${of}`
    const fault = faulted.has(key) ? undefined : faults[of]
    faulted.add(key)
    switch (fault) {
      case "fails":
        return Effect.fail(new Unfound({ message: "The register is busy: ask again" }))
      case "late":
        return Effect.succeed("The record is not there yet: ask again.")
      case "wrong":
        return Effect.succeed(record({ kind: finds, of: `${wants}-1`, value: `${finds}-1` }))
      default:
        return Effect.succeed(record(fact))
    }
  }
  const made = tools.map(({ finds, of: wants }) =>
    Tool.make(`find_${finds.toLowerCase()}`, {
      description: `Finds the ${finds} of a ${wants}.`,
      readOnly: true,
      parameters: { of: Schema.String.annotations({ description: `A ${wants}, or a text that ends with one` }) },
      success: Schema.String,
      failure: Unfound,
      handler: ({ of }) => Effect.suspend(() => find(finds, wants, of))
    })
  )
  return { tools: made, find, calls: () => calls }
}

type Draw = Effect.Effect<{ readonly input: World; readonly expected: Expected }>

const pick = <A>(items: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(Random.nextIntBetween(0, items.length), (index) => items[index] as A)

const numbers = Effect.map(Random.shuffle(Array.from({ length: 900 }, (_, index) => index + 100)), (all) => {
  const left = Array.from(all)
  return () => left.pop() ?? 0
})

interface Shape {
  /** Records between what is named and what is asked for. */
  readonly links: readonly [least: number, most: number]
  readonly faulty: boolean
  /** The records are in the question, among notes that are wrong; the tools have nothing to do with it. */
  readonly told: boolean
}

const draw = ({ faulty, links, told }: Shape): Draw =>
  Effect.gen(function* () {
    const number = yield* numbers
    const length = yield* Random.nextIntBetween(links[0], links[1] + 1)
    const shuffled = Array.from(yield* Random.shuffle(kinds))
    const path = shuffled.slice(0, length + 1)
    const others = shuffled.slice(length + 1)
    const [first = "", goal = ""] = [path[0], path.at(-1)]
    const starts = Array.from({ length: yield* Random.nextIntBetween(1, 3) }, () => `${first}-${number()}`)
    const chains = starts.map((start) => {
      const ids = [start, ...path.slice(1).map((kind) => `${kind}-${number()}`)]
      return ids.slice(1).map((value, index): Fact => ({ kind: kindOf(value), of: ids[index] ?? "", value }))
    })
    const facts = chains.flat()
    const faults: Record<string, Fault> = {}
    if (faulty) {
      for (const { of } of facts)
        if (yield* Random.nextBoolean) faults[of] = yield* pick<Fault>(["fails", "wrong", "late"])
    }
    const asked = `What is the ${goal} of ${starts.join(" and of ")}? Give the identifier of each ${goal}.`
    const notes = starts.map((start) => `Note: the ${goal} of ${start} is ${goal}-${number()}, as far as I remember.`)
    const said = told ? yield* Random.shuffle([...facts.map(record), ...notes]) : []
    const onPath = path.slice(1).map((finds, index) => ({ finds, of: path[index] ?? "" }))
    const offPath = others.slice(1, 4).map((finds, index) => ({ finds, of: (told ? others : path)[index] ?? first }))
    return {
      input: {
        question: [asked, ...said].join("\n"),
        facts: told ? [] : facts,
        tools: Array.from(yield* Random.shuffle(told ? offPath : [...onPath, ...offPath])),
        faults
      },
      expected: chains.flatMap((chain) => chain.at(-1)?.value ?? [])
    }
  })

const dataset = (name: string, seed: number, size: number, shape: Shape) =>
  Effect.flatMap(Effect.all(Array.from({ length: size }, () => draw(shape))), (cases) =>
    Dataset.make(name, cases)
  ).pipe(Effect.withRandom(Random.make(seed)))

/** The datasets, each of `size` cases. */
export const datasets = (size: number) =>
  Effect.all([
    dataset("plans", 1, size, { links: [2, 4], faulty: false, told: false }),
    dataset("faults", 2, size, { links: [2, 3], faulty: true, told: false }),
    dataset("distractors", 3, size, { links: [2, 4], faulty: false, told: true })
  ])
