/**
 * Texts made from the expressions of the guards themselves: each guard takes linear time on them. The texts are the same in every run.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { filesBelow } from "../../scripts/layout.js"
import { literals } from "../../scripts/lint-regex.js"
import * as Attacks from "../../scripts/regex-attacks.js"
import * as CredentialEntities from "../../src/guard/entity/CredentialEntities.js"
import * as EmailEntity from "../../src/guard/entity/EmailEntity.js"
import * as NationalEntities from "../../src/guard/entity/NationalEntities.js"
import * as NetworkEntities from "../../src/guard/entity/NetworkEntities.js"
import * as PaymentEntities from "../../src/guard/entity/PaymentEntities.js"
import * as PersonalEntities from "../../src/guard/entity/PersonalEntities.js"
import * as PhoneEntity from "../../src/guard/entity/PhoneEntity.js"
import type * as PiiEntity from "../../src/guard/entity/PiiEntity.js"
import * as VendorEntities from "../../src/guard/entity/VendorEntities.js"
import * as InjectionDetector from "../../src/guard/injection/InjectionDetector.js"
import * as PiiDetector from "../../src/guard/pii/PiiDetector.js"
import * as TopicGuard from "../../src/guard/TopicGuard.js"
import * as UnicodeGuard from "../../src/guard/UnicodeGuard.js"
import * as Growth from "../support/Growth.js"
import * as PiiCorpus from "../support/PiiCorpus.js"

const folder = fileURLToPath(new URL("../../src/guard", import.meta.url))

const pathOf: ReadonlyMap<string, string> = new Map(
  filesBelow(folder).map((file) => [Path.basename(file, ".ts"), Path.join(folder, file)])
)

/** One attack on each expression, of the same choice in every run. */
const attacksOf = (files: ReadonlyArray<string>): ReadonlyArray<Attacks.Attack> => {
  const pick = PiiCorpus.random(files.length)
  return files.flatMap((file) =>
    literals(file, Fs.readFileSync(pathOf.get(file)!, "utf8")).flatMap(({ flags, source }) => {
      const attacks = Attacks.of(source, flags, 60)
      return attacks.length === 0 ? [] : [attacks[pick(attacks.length)]!]
    })
  )
}

/** So many runs stand in one text, each of an attack over and over: what is not linear in a run is not linear in the text. */
const runsIn = 16

/** Borders of sections, rules and lists, over and over. */
const marks = ["#=-*", "_~ \n"].map(
  (chars) => (size: number) => [...chars].map((char) => char.repeat(Math.ceil(size / chars.length))).join("x")
)

const { byCountry, general } = NationalEntities

const groups: {
  readonly [name: string]: {
    readonly files: ReadonlyArray<string>
    readonly find: Effect.Effect<(text: string) => unknown>
  }
} = {
  ...Object.fromEntries(
    Object.entries({
      PaymentEntities: PaymentEntities.all,
      EmailEntity: [EmailEntity.email],
      NetworkEntities: NetworkEntities.all,
      PersonalEntities: PersonalEntities.all,
      VendorEntities: VendorEntities.all,
      CredentialEntities: CredentialEntities.all,
      NationalIdsAmerica: [...byCountry.US, ...byCountry.CA],
      NationalIdsAsiaPacific: [byCountry.AU, byCountry.IN, byCountry.KR, byCountry.PH, byCountry.SG].flat(),
      NationalIdsBritain: byCountry.UK,
      NationalIdsEurope: [byCountry.ES, byCountry.FI, byCountry.IT, byCountry.PL, byCountry.SE, byCountry.TR].flat(),
      NationalIdsGermany: byCountry.DE,
      GeneralIds: general
    } satisfies { readonly [file: string]: ReadonlyArray<PiiEntity.PiiEntity> }).map(([file, entities]) => [
      file,
      { files: [file], find: Effect.sync(() => PiiDetector.make({ entities, sensitivity: "high" }).find) }
    ])
  ),
  PhoneEntity: {
    files: ["PhoneEntity", "PhonePlans", "PhoneRows"],
    find: Effect.map(
      Effect.orDie(PhoneEntity.make()),
      (phone) => PiiDetector.make({ entities: [phone], sensitivity: "high" }).find
    )
  },
  InjectionDetector: {
    files: [
      "InjectionRules",
      "InjectionPayload",
      "InjectionMention",
      "InjectionDetector",
      "RecordLines",
      "RecordContainers"
    ],
    find: Effect.sync(() => InjectionDetector.make().detect)
  },
  UnicodeGuard: {
    files: ["UnicodeGuard"],
    find: Effect.sync(() => {
      const { window } = UnicodeGuard.make()
      return (text: string) => window!.find(text, 0)
    })
  },
  TopicGuard: {
    files: ["TopicGuard"],
    find: Effect.sync(() => {
      const { window } = TopicGuard.make({ topics: ["weapons", "politics"] })
      return (text: string) => window!.find(text, 0)
    })
  }
}

describe("texts derived from a guard's expressions take linear time", () => {
  for (const [name, { files, find }] of Object.entries(groups)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const run = yield* find
        const attacks = attacksOf(files)
        assert.isNotEmpty(attacks)
        const texts = Array.from({ length: Math.ceil(attacks.length / runsIn) }, (_, index) => {
          const chosen = attacks.slice(index * runsIn, (index + 1) * runsIn)
          return (size: number) =>
            chosen.map((attack) => Attacks.textOf(attack, Math.ceil(size / chosen.length))).join("\n")
        })
        Growth.assertLinearTexts([...marks, ...texts], run, 80_000)
      })
    )
  }
})
