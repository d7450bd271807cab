/** Large sets of tools: every verb of an office with every noun, each with a description and parameters. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../src/tool/definition/Tool.js"

const verbs = [
  ["create", "Creates a new"],
  ["delete", "Removes an existing"],
  ["list", "Lists every"],
  ["approve", "Approves a pending"],
  ["export", "Exports to a file the"],
  ["assign", "Assigns to a colleague the"],
  ["archive", "Archives the closed"],
  ["share", "Shares with a partner the"],
  ["translate", "Translates the text of the"],
  ["audit", "Records who changed the"]
] as const

const nouns = [
  ["invoice", "billing"],
  ["shipment", "logistics"],
  ["contract", "legal affairs"],
  ["payslip", "payroll"],
  ["candidate", "recruiting"],
  ["badge", "building access"],
  ["vehicle", "the car pool"],
  ["ticket", "customer support"],
  ["campaign", "marketing"],
  ["warehouse", "stock keeping"],
  ["voucher", "loyalty programs"],
  ["certificate", "training"],
  ["incident", "operations"],
  ["budget", "controlling"],
  ["survey", "research"],
  ["newsletter", "press relations"],
  ["license", "software assets"],
  ["appointment", "the front desk"],
  ["meter", "facility management"],
  ["donation", "charity"],
  ["permit", "public authorities"],
  ["catalogue", "sales"],
  ["blueprint", "engineering"],
  ["sample", "the laboratory"],
  ["lease", "real estate"],
  ["claim", "insurance"],
  ["visa", "travel"],
  ["recipe", "the canteen"],
  ["playlist", "events"],
  ["pallet", "packaging"],
  ["beacon", "tracking devices"],
  ["turbine", "energy"],
  ["patent", "inventions"],
  ["auction", "procurement"],
  ["ferry", "harbor services"],
  ["greenhouse", "agriculture"],
  ["orchestra", "culture"],
  ["vaccine", "public health"],
  ["satellite", "ground control"],
  ["mortgage", "banking"],
  ["referee", "sports"],
  ["dialect", "language archives"],
  ["fossil", "the museum"],
  ["glacier", "climate records"],
  ["shuttle", "employee transport"],
  ["mascot", "branding"],
  ["trophy", "awards"],
  ["locker", "changing rooms"],
  ["boiler", "heating"],
  ["sculpture", "the art collection"]
] as const

/** At most 500 tools of an office, always the same ones in the same order. */
export const office = (count: number): ReadonlyArray<Tool.Any> =>
  nouns
    .flatMap(([noun, domain]) =>
      verbs.map(
        ([verb, does]) =>
          Tool.make(`${verb}_${noun}`, {
            description: `${does} ${noun} in ${domain}`,
            parameters: {
              [`${noun}_id`]: Schema.String.annotations({ description: `Which ${noun}` }),
              note: Schema.optional(Schema.String)
            },
            handler: () => Effect.succeed(`${verb} ${noun}: done`)
          }) as unknown as Tool.Any
      )
    )
    .slice(0, count)
