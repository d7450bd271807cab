/**
 * Texts with personal data and secrets, and lookalikes without.
 *
 * A file has sections. A line of `[values]` is put into a sentence of `[frames]` (of the file, else of `frames.txt`)
 * and must be found; in `[texts]` and in values, `«…»` marks what must be found; nothing of the type may be found in
 * `[not]` (in frames) and `[not texts]`. `‹n20›` is random text made at run time, and `¦` is nothing: no line of a file
 * contains a token that could be taken for a real one.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

export interface Sample {
  readonly text: string
  /** Start and end of every expected finding. */
  readonly spans: ReadonlyArray<readonly [start: number, end: number]>
}

const folder = Path.join(Path.dirname(fileURLToPath(import.meta.url)), "..", "guard", "corpus")

export type Random = (below: number) => number

/** The same numbers in every run (mulberry32). */
export const random = (seed: number): Random => {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const digit = "0123456789"
const lower = "abcdefghijklmnopqrstuvwxyz"
const upper = lower.toUpperCase()

const alphabets: { readonly [kind: string]: ReadonlyArray<string> } = {
  d: [digit],
  a: [lower],
  m: [lower, upper],
  A: [`${upper}234567`, "234567"],
  h: [`${digit}abcdef`, digit, "abcdef"],
  H: [`${digit}ABCDEF`, digit, "ABCDEF"],
  n: [lower, upper, digit],
  u: [`${lower}${upper}${digit}-_`, lower, upper, digit],
  b: [`${lower}${upper}${digit}+/`, lower, upper, digit]
}

/** Begins and ends with a letter or digit, and contains every kind of character. */
const make = (kind: string, length: number, pick: Random): string => {
  const kinds = alphabets[kind]!
  const all = kinds.join("")
  let text = ""
  while (text.length < length) {
    const from = text.length < kinds.length ? kinds[text.length]! : all
    const next = from[pick(from.length)]!
    if (/[A-Za-z0-9]/.test(next) || (text.length > 0 && text.length < length - 1)) text += next
  }
  return text
}

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const evaluate = (expression: string, pick: Random): string => {
  const [name = "", argument = ""] = [
    expression.slice(0, expression.indexOf(":")),
    expression.slice(expression.indexOf(":") + 1)
  ]
  switch (expression.includes(":") ? name : "") {
    case "j":
      return Buffer.from(argument).toString("base64url")
    case "s":
      return base64(argument).replace(/=+$/, "")
    case "S":
      return base64(argument)
    case "p":
    case "P": {
      const lines = Array.from({ length: Number(argument) - 1 }, () => make("b", 64, pick))
      return [...lines, `${make("b", 22, pick)}==`].join(name === "p" ? "\n" : "\\n")
    }
    default:
      return make(expression[0]!, Number(expression.slice(1)), pick)
  }
}

const expand = (line: string, pick: Random): string => {
  let text = line.replace(/\\\\n/g, "\ue000").replace(/\\n/g, "\n").replace(/\\t/g, "\t").replace(/¦/g, "")
  while (/‹[^‹›]*›/.test(text)) text = text.replace(/‹([^‹›]*)›/, (_, expression) => evaluate(expression, pick))
  return text.replace(/\ue000/g, "\\n")
}

const marked = (text: string): Sample => {
  const spans: Array<readonly [number, number]> = []
  let plain = ""
  let start = 0
  for (const part of text.split(/([«»])/)) {
    if (part === "«") start = plain.length
    else if (part === "»") spans.push([start, plain.length])
    else plain += part
  }
  return { text: plain, spans }
}

const read = (file: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const sections = new Map<string, Array<string>>()
  let current: Array<string> = []
  sections.set("", current)
  for (const line of Fs.readFileSync(Path.join(folder, file), "utf8").split("\n")) {
    const name = /^\[(frames|values|texts|not|not texts)\]$/.exec(line)?.[1]
    if (name === undefined) {
      if (line !== "") current.push(line)
      continue
    }
    current = sections.get(name) ?? []
    sections.set(name, current)
  }
  return sections
}

export const types: ReadonlyArray<string> = Fs.readdirSync(folder)
  .filter((file) => /^[A-Z_]+\.txt$/.test(file))
  .map((file) => file.slice(0, -4))
  .sort()

const common = read("frames.txt").get("")!

/** Sentences that say nothing about the value in them, with `{}`. */
export const frames = (): ReadonlyArray<string> => common.map((frame) => expand(frame, random(3)))

/** Texts full of numbers, none of them personal. */
export const hard = (): ReadonlyArray<string> =>
  read("hard.txt")
    .get("not texts")!
    .map((text) => expand(text, random(5)))

/** Positives of a type (repeated to at least 40) and its hard negatives, including those of all types. */
export const load = (
  type: string
): { readonly positives: ReadonlyArray<Sample>; readonly negatives: ReadonlyArray<Sample> } => {
  const sections = read(`${type}.txt`)
  const pick = random([...type].reduce((sum, character) => sum * 31 + character.charCodeAt(0), 7) | 0)
  const frames = (sections.get("frames") ?? common).map((frame) => expand(frame, pick))
  const placed = (value: string, index: number): string =>
    frames[(index * 7 + 3) % frames.length]!.replace("{}", () => value)
  const values = sections.get("values") ?? []
  const texts = sections.get("texts") ?? []
  const positives: Array<Sample> = []
  for (let index = 0; index < Math.max(values.length, 40 - texts.length); index++) {
    const value = expand(values[index % values.length]!, pick)
    positives.push(marked(placed(value.includes("«") ? value : `«${value}»`, index)))
  }
  for (const text of texts) positives.push(marked(expand(text, pick)))
  const not = sections.get("not") ?? []
  const negatives = Array.from({ length: 2 * not.length }, (_, index) =>
    placed(expand(not[index % not.length]!, pick), index)
  )
  for (const text of sections.get("not texts") ?? []) negatives.push(expand(text, pick))
  for (const text of read("hard.txt").get("not texts")!) negatives.push(expand(text, pick))
  return { positives, negatives: negatives.map((text) => ({ text, spans: [] })) }
}
