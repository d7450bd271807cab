/**
 * Texts with and without personal data, made from a seed: the ground of the tables in `docs/guards.md`. Default types
 * have those of the corpus; optional types have numbers of `NationalSamples` in frames of `DocumentPhrases`.
 */
import * as DocumentPhrases from "./DocumentPhrases.js"
import * as NationalSamples from "./NationalSamples.js"
import * as PiiCorpus from "./PiiCorpus.js"

export interface Cases {
  /** Of an optional type: beside a word that announces it. */
  readonly positives: ReadonlyArray<PiiCorpus.Sample>
  /** Nothing but the value: a field, a cell. */
  readonly whole: ReadonlyArray<PiiCorpus.Sample>
  /** With the word in another column, row or sentence, more than fifty characters before. */
  readonly far: ReadonlyArray<PiiCorpus.Sample>
  /** In a text that says nothing about the value. */
  readonly unannounced: ReadonlyArray<PiiCorpus.Sample>
  readonly negatives: ReadonlyArray<string>
}

const seedOf = (type: string): number => [...type].reduce((sum, char) => sum * 31 + char.charCodeAt(0), 11) | 0

const place = (frame: string, value: string): PiiCorpus.Sample => {
  const start = frame.indexOf("{v}")
  return { text: frame.replace("{v}", () => value), spans: [[start, start + value.length]] }
}

const replaceAll = (text: string, kind: string, from: string, pick: PiiCorpus.Random): string =>
  text.replaceAll(kind, () => from[pick(from.length)]!)

/** `§` is a digit, `¤` a hexadecimal one, `◊` a letter. */
const everyday: ReadonlyArray<string> = [
  "Order §§§§§§§§ left the warehouse.",
  "Bestellung ◊◊-§§§§§§§ ist unterwegs.",
  "Votre commande n° §§§§§§§§§ est prête.",
  "El pedido §§§§-§§§§ llega mañana.",
  "Invoice INV-§§§§§§§ is due.",
  "Rechnung §§§§§§§§§§ wurde bezahlt.",
  "Fattura n. §§§§/§§ saldata.",
  "version §.§§.§-beta.§",
  "v§§.§.§§§§ fixes the crash on start",
  "commit ¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤",
  "sha1 ¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤¤ matches",
  'etag W/"¤¤¤¤¤¤¤¤¤¤¤¤"',
  "request ¤¤¤¤¤¤¤¤-¤¤¤¤-4¤¤¤-a¤¤¤-¤¤¤¤¤¤¤¤¤¤¤¤ failed",
  'ts=17§§§§§§§§ level=warn msg="slow query" ms=§§§§',
  "epoch 17§§§§§§§§§§§",
  "Tracking 1Z§§§◊◊§§§§§§§§§§ shipped",
  "Sendungsnummer §§§§§§§§§§§§§§",
  "parcel ◊◊§§§§§§§§§◊◊ is in transit",
  "lat=4§.§§§§§§ lon=1§.§§§§§§",
  "position 5§.§§§§, -0.§§§§§",
  "The price is $§,§§§.§§ plus tax.",
  "Preis: §§§,§§ EUR",
  "The population is §,§§§,§§§.",
  "const mask = 0x¤¤¤¤¤¤¤¤ >>> §",
  "for (let i = 0; i < §§§§§§§; i += §§) total += rows[i]",
  "SELECT * FROM t WHERE id = §§§§§§§§§ LIMIT §§",
  '{"id": §§§§§§§§§, "count": §§, "ok": true}',
  "job §§§§§§ finished in §§§§ ms with code §",
  "pid §§§§§ on port §§§§ used §§§§§§§§ bytes",
  "Pages §§§-§§§ of volume §§.",
  "Room ◊-§§§, building §§",
  "model ◊◊-§§§§◊ rev ◊",
  "serial ◊§§◊§§§§§◊◊§ (see label)",
  "Chapter §.§.§ explains table §-§.",
  "The score was §§:§§ after § minutes.",
  "gate ◊§§, seat §§◊, flight ◊◊ §§§",
  "batch §§§§§-◊, lot §§◊§",
  "error E§§§§: buffer of §§§§§§§ bytes",
  "coupon ◊◊◊◊-◊◊◊◊-◊◊◊◊ saves §§ %",
  "The reference is ◊◊◊§§§§§§§§§.",
  "Nummer §§§§§§ wird aufgerufen."
]

/** A word of the type is near, and the number belongs to something else. */
const mixed: ReadonlyArray<string> = [
  "Bring your {w} along. Order number §§§§§§§§§ is ready.",
  "No {w} needed; your ticket is ◊◊§§§§§§§.",
  "{w} was checked. Tracking: §§§§§§§§§§§",
  "Copy of the {w} received, invoice no. §§§§§§§§.",
  "The {w} office served §§§§§§§§ people.",
  "Since the {w} reform §§§§§§§§§ EUR were saved.",
  "{w}: none. Readers this year: §§§§§§§§§",
  "About {w} see §§§§§§§ and the table below."
]

/** Marks of what ordinary texts contain of a type. */
const own: { readonly [type: string]: RegExp } = {
  DE_KFZ: /plate/i,
  DE_PLZ: /postal code/i,
  URL: /[a-z]\.(?:com|org|net|io|de|uk)|[:/]\/|@|\.js|\.ts/i,
  DATE: /\b(?:19|20)\d\d\b|\d[/-]\d|\d\.\d+\.|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec/i
}

const made = (template: string, pick: PiiCorpus.Random): string =>
  [
    ["§", "0123456789"],
    ["¤", "0123456789abcdef"],
    ["◊", "ABCDEFGHKLMNPRSTVWXYZ"]
  ].reduce((text, [kind, from]) => replaceAll(text, kind!, from!, pick), template)

const ordinary = (type: string, pick: PiiCorpus.Random): ReadonlyArray<string> => {
  const texts = [...everyday, ...everyday].map((template) => made(template, pick))
  const mark = own[type]
  return mark === undefined ? texts : texts.filter((text) => !mark.test(text))
}

const far: ReadonlyArray<string> = [
  "{w};name;street;town;entry;exit;remarks of the office\nX;Sara Holm;Hauptweg;Uppsala;May;June;{v}",
  "We need your {w}. You find it at the top of the card, in the second line on the right side. {v}",
  "| {w} | name |\n|---|---|\n| pending until the office answers | Sara Holm from Uppsala |\n| {v} | Priya |",
  "{w}\n\nThis field is required. Use capital letters only, and no stamps please.\n\n{v}"
]

const repeat = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index))

const optional = (type: string): Cases => {
  const pick = PiiCorpus.random(seedOf(type))
  const frames = DocumentPhrases.frames(type)
  const names = DocumentPhrases.names(type)
  const mark = own[type]
  const neutral = PiiCorpus.frames()
    .filter((frame) => mark === undefined || !mark.test(frame))
    .map((frame) => frame.replace("{}", "{v}"))
  return {
    positives: repeat(Math.max(48, frames.length), (index) =>
      place(frames[index % frames.length]!, NationalSamples.valid(type, pick))
    ),
    whole: repeat(24, () => place("{v}", NationalSamples.valid(type, pick))),
    far: repeat(24, (index) =>
      place(
        far[index % far.length]!.replace("{w}", () => names[index % names.length]!),
        NationalSamples.valid(type, pick)
      )
    ),
    unannounced: repeat(48, (index) => place(neutral[index % neutral.length]!, NationalSamples.valid(type, pick))),
    negatives: [
      ...repeat(
        40,
        (index) => place(frames[(5 * index) % frames.length]!, NationalSamples.broken(type, pick)).text
      ).filter((text) => mark === undefined || (type === "DATE" && !text.startsWith("2024"))),
      ...(mark === undefined
        ? repeat(24, (index) =>
            made(mixed[index % mixed.length]!, pick).replace("{w}", () => names[index % names.length]!)
          )
        : []),
      ...ordinary(type, pick),
      ...PiiCorpus.hard().filter((text) => mark === undefined || !mark.test(text))
    ]
  }
}

const byDefault = (type: string): Cases => {
  const { negatives, positives } = PiiCorpus.load(type)
  return {
    positives,
    whole: [],
    far: [],
    unannounced: [],
    negatives: [...negatives.map(({ text }) => text), ...ordinary(type, PiiCorpus.random(seedOf(type)))]
  }
}

export const of = (type: string): Cases => (PiiCorpus.types.includes(type) ? byDefault(type) : optional(type))
