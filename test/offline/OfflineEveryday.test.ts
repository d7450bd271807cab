import { assert, describe, it } from "@effect/vitest"
import type { ToolDefinition } from "../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as OfflineModel from "../../src/offline/OfflineModel.js"
import * as Growth from "../support/Growth.js"

type Params = { readonly [name: string]: unknown }
type Call = readonly [name: string, params: Params]
/** A request, the calls of its first turn, and whether the case may not fail. */
type Row = readonly [request: string, calls: ReadonlyArray<Call>, must?: "must"]

const tool = (
  name: string,
  description: string,
  properties: Record<string, unknown>,
  required: ReadonlyArray<string> = Object.keys(properties)
): ToolDefinition => ({
  name,
  description,
  parameters: { type: "object", properties, required, additionalProperties: false }
})

const text = (description: string) => ({ type: "string", description })
const number = (description: string) => ({ type: "number", description })
const oneOf = (...options: ReadonlyArray<string>) => ({
  type: "string",
  enum: options,
  description: "What it is about"
})

const outfitter = [
  tool(
    "lookup_order",
    "Looks up an order: where it is, whether it has shipped, when it arrives, its items, total, carrier and tracking number",
    { order_id: text("Order number, four digits") }
  ),
  tool("track_shipment", "Tracks a parcel with its carrier: the last scans and the estimated delivery", {
    tracking_number: text("Tracking number, as it stands on the order")
  }),
  tool(
    "search_products",
    "Searches the products that the shop sells (jackets, tents, stoves), with their price and how many are in stock",
    { query: text("Name or kind of product"), max_price: number("Highest price in EUR") },
    ["query"]
  ),
  tool(
    "start_return",
    "Starts the return of an order that the customer wants to send back: issues a label and names the refund",
    { order_id: text("Order number, four digits"), reason: text("Why the customer sends it back") },
    ["order_id"]
  ),
  tool(
    "read_policy",
    "Reads a policy of the shop: the rules about returns, exchange, postage, warranty or lost parcels",
    {
      topic: oneOf("returns", "exchange", "postage", "warranty", "lost")
    }
  )
]

const outfitterRows: ReadonlyArray<Row> = [
  ["Do you have a jacket under 150 EUR?", [["search_products", { query: "jacket", max_price: 150 }]], "must"],
  ["How much is a tent?", [["search_products", { query: "tent" }]], "must"],
  ["Find jackets", [["search_products", { query: "jackets" }]], "must"],
  ["Do you sell stoves?", [["search_products", { query: "stoves" }]], "must"],
  ["Search for a rain jacket", [["search_products", { query: "rain jacket" }]], "must"],
  ["What is your return policy?", [["read_policy", { topic: "returns" }]], "must"],
  ["I want to return order 1039", [["start_return", { order_id: "1039" }]], "must"],
  ["Cancel order 1042 please", [["lookup_order", { order_id: "1042" }]], "must"],
  ["Has my parcel shipped? Order 1017", [["lookup_order", { order_id: "1017" }]], "must"],
  ["Where's 1042?", [["lookup_order", { order_id: "1042" }]], "must"],
  [
    "Where is 1042 and can I return 1039?",
    [
      ["lookup_order", { order_id: "1042" }],
      ["start_return", { order_id: "1039" }]
    ],
    "must"
  ],
  ["Where is order 1042 and when does it arrive?", [["lookup_order", { order_id: "1042" }]]],
  ["What is the total of order 1034?", [["lookup_order", { order_id: "1034" }]]],
  ["Track JD014600423", [["track_shipment", { tracking_number: "JD014600423" }]]],
  ["Where is the parcel with tracking number GL90010431?", [["track_shipment", { tracking_number: "GL90010431" }]]],
  [
    "I'm looking for a sleeping bag for less than €100",
    [["search_products", { query: "sleeping bag", max_price: 100 }]]
  ],
  ["Got any headlamps in stock?", [["search_products", { query: "headlamps" }]]],
  ["What does a two-person tent cost?", [["search_products", { query: "two-person tent" }]]],
  ["Is there a warranty on tents?", [["read_policy", { topic: "warranty" }]]],
  ["How much is the postage?", [["read_policy", { topic: "postage" }]]],
  ["Please send back order 1041, the stove is broken", [["start_return", { order_id: "1041" }]]],
  ["Show me hiking boots up to 220 euros", [["search_products", { query: "hiking boots", max_price: 220 }]]],
  ["Good morning!", []],
  ["Thanks, bye", []]
]

const library = [
  tool("fetch_loan", "Shows a loan: which title it is for, when it is due back and whether it is overdue", {
    loan_id: text("Number of the loan, five digits")
  }),
  tool("member_account", "Shows the account of a member: open fines and reserved titles", {
    member_number: text("Number on the member card")
  }),
  tool(
    "find_titles",
    "Finds titles in the catalogue of the library, with their author and how many copies are free",
    {
      search: text("Words of the title, author or subject"),
      max_pages: { type: "integer", description: "Most pages" }
    },
    ["search"]
  ),
  tool(
    "extend_loan",
    "Extends a loan by some weeks, if nobody else waits for it",
    { loan_id: text("Number of the loan, five digits"), weeks: { type: "integer", description: "How many weeks" } },
    ["loan_id"]
  ),
  tool("house_rules", "Tells the rules of the library about fines, opening hours, rooms or borrowing", {
    subject: oneOf("fines", "opening", "rooms", "borrowing")
  })
]

const libraryRows: ReadonlyArray<Row> = [
  ["Do you have anything about glaciers?", [["find_titles", { search: "glaciers" }]]],
  ["Find novels by Tove Jansson", [["find_titles", { search: "novels by Tove Jansson" }]]],
  ["Is there a cookbook under 200 pages?", [["find_titles", { search: "cookbook", max_pages: 200 }]]],
  ["Search for a history of cartography", [["find_titles", { search: "history of cartography" }]]],
  ["I'm looking for a bird guide", [["find_titles", { search: "bird guide" }]]],
  ["When is loan 40112 due?", [["fetch_loan", { loan_id: "40112" }]]],
  ["Please extend loan 40112 by 2 weeks", [["extend_loan", { loan_id: "40112", weeks: 2 }]]],
  ["I would like to extend loan 40113", [["extend_loan", { loan_id: "40113" }]]],
  ["Is 40112 overdue?", [["fetch_loan", { loan_id: "40112" }]]],
  ["What are your opening hours?", [["house_rules", { subject: "opening" }]]],
  ["How high are the fines?", [["house_rules", { subject: "fines" }]]],
  ["What fines does member M-771 have?", [["member_account", { member_number: "M-771" }]]],
  [
    "When is 40112 due and can I extend 40115?",
    [
      ["fetch_loan", { loan_id: "40112" }],
      ["extend_loan", { loan_id: "40115" }]
    ]
  ],
  ["Do you carry atlases?", [["find_titles", { search: "atlases" }]]],
  ["hello", []]
]

const clinic = [
  tool("get_appointment", "An appointment of the clinic: its day, hour, doctor and room", {
    appointment_id: text("Number of the appointment")
  }),
  tool("lab_result", "The result of a sample that the laboratory has examined", {
    sample_code: text("Code on the sample, such as S-1200")
  }),
  tool(
    "search_treatments",
    "Searches the treatments that the clinic offers, with their fee and duration",
    { term: text("Treatment or complaint"), fee_limit: number("Highest fee in CHF") },
    ["term"]
  ),
  tool(
    "cancel_appointment",
    "Cancels an appointment",
    { appointment_id: text("Number of the appointment"), reason: text("Why it is cancelled") },
    ["appointment_id"]
  ),
  tool("patient_guide", "Advice for patients about fasting, visitors, parking or insurance", {
    chapter: oneOf("fasting", "visitors", "parking", "insurance")
  })
]

const clinicRows: ReadonlyArray<Row> = [
  ["Do you offer massages below 90 CHF?", [["search_treatments", { term: "massages", fee_limit: 90 }]]],
  ["How much is an ultrasound?", [["search_treatments", { term: "ultrasound" }]]],
  ["I need something for back pain", [["search_treatments", { term: "back pain" }]]],
  ["What does a dental cleaning cost?", [["search_treatments", { term: "dental cleaning" }]]],
  ["When is appointment 5520?", [["get_appointment", { appointment_id: "5520" }]]],
  ["Cancel appointment 5520 please", [["cancel_appointment", { appointment_id: "5520" }]]],
  ["I want to cancel 5520", [["cancel_appointment", { appointment_id: "5520" }]]],
  ["Which doctor do I see? Appointment 5521", [["get_appointment", { appointment_id: "5521" }]]],
  ["Is the result of sample S-1207 there?", [["lab_result", { sample_code: "S-1207" }]]],
  ["Where can I park?", [["patient_guide", { chapter: "parking" }]]],
  ["Do you take my insurance?", [["patient_guide", { chapter: "insurance" }]]],
  [
    "When is 5520 and can you cancel 5533?",
    [
      ["get_appointment", { appointment_id: "5520" }],
      ["cancel_appointment", { appointment_id: "5533" }]
    ]
  ],
  ["When's 5520?", [["get_appointment", { appointment_id: "5520" }]]],
  ["Thank you very much", []]
]

const inn = [
  tool("view_booking", "Shows a booking: guest, room, arrival, departure and what is left to pay", {
    booking_number: text("Booking number, six digits")
  }),
  tool(
    "browse_rooms",
    "Browses the kinds of room (suites, lofts, cabins) that the inn lets, with the rate for a night",
    { wish: text("Kind of room"), max_rate: number("Highest rate for a night in EUR") },
    ["wish"]
  ),
  tool(
    "request_refund",
    "Requests the refund of a booking that cannot be used",
    { booking_number: text("Booking number, six digits"), why: text("Why it cannot be used") },
    ["booking_number"]
  ),
  tool("order_breakfast", "Orders breakfast to a room", {
    room: { type: "integer", description: "Number of the room" },
    portions: { type: "integer", description: "How many portions" }
  }),
  tool("inn_information", "Tells about the breakfast, pets, sauna or checkout of the inn", {
    about: oneOf("breakfast", "pets", "sauna", "checkout")
  })
]

const innRows: ReadonlyArray<Row> = [
  ["Do you have a suite under 250 EUR?", [["browse_rooms", { wish: "suite", max_rate: 250 }]]],
  ["How much is a loft?", [["browse_rooms", { wish: "loft" }]]],
  ["Find cabins", [["browse_rooms", { wish: "cabins" }]]],
  ["Are there any family rooms for at most 180 euros?", [["browse_rooms", { wish: "family rooms", max_rate: 180 }]]],
  ["Are pets allowed?", [["inn_information", { about: "pets" }]]],
  ["When is checkout?", [["inn_information", { about: "checkout" }]]],
  ["Who is the guest of booking 300417?", [["view_booking", { booking_number: "300417" }]]],
  ["I want a refund for booking 300418", [["request_refund", { booking_number: "300418" }]]],
  ["What is left to pay on 300417?", [["view_booking", { booking_number: "300417" }]]],
  ["Order breakfast to room 12, 2 portions", [["order_breakfast", { room: 12, portions: 2 }]]],
  ["Is there a sauna?", [["inn_information", { about: "sauna" }]]],
  [
    "Show booking 300417 and refund 300420",
    [
      ["view_booking", { booking_number: "300417" }],
      ["request_refund", { booking_number: "300420" }]
    ]
  ],
  [
    "Show bookings 300417 and 300418",
    [
      ["view_booking", { booking_number: "300417" }],
      ["view_booking", { booking_number: "300418" }]
    ]
  ],
  ["hi there", []]
]

const domains: ReadonlyArray<readonly [string, ReadonlyArray<ToolDefinition>, ReadonlyArray<Row>]> = [
  ["outfitter", outfitter, outfitterRows],
  ["library", library, libraryRows],
  ["clinic", clinic, clinicRows],
  ["inn", inn, innRows]
]

const made = (request: string, tools: ReadonlyArray<ToolDefinition>): ReadonlyArray<Call> =>
  LlmClient.toolCalls(OfflineModel.respond({ messages: [{ role: "user", content: request }], tools })).map(
    ({ name, params }) => [name, params as Params] as const
  )

/** The expected calls, in order; an argument that the table does not name may be there if it is optional. */
const agrees = (got: ReadonlyArray<Call>, expected: ReadonlyArray<Call>): boolean =>
  got.length === expected.length &&
  expected.every(
    ([name, params], index) =>
      got[index]![0] === name &&
      Object.entries(params).every(([key, value]) => JSON.stringify(got[index]![1][key]) === JSON.stringify(value))
  )

describe("OfflineModel, for everyday requests", () => {
  const results = domains.flatMap(([domain, tools, rows]) =>
    rows.map(([request, expected, must]) => {
      const got = made(request, tools)
      return { domain, request, expected, must: must === "must", got, right: agrees(got, expected) }
    })
  )
  const failures = results.filter(({ right }) => !right)
  const shown = failures.map(({ domain, got, request }) => `${domain}: ${request} ${JSON.stringify(got)}`).join("\n")

  it("picks the tools and arguments of nine in ten requests over four domains", () => {
    assert.isAtLeast(results.length, 60)
    assert.isAtMost(failures.length, results.length / 10, shown)
  })
  it("does not depend on the order of tools, or on their names and subjects", () => {
    const names: { readonly [word: string]: string } = {
      order: "glork",
      parcel: "vorn",
      shipment: "vornage",
      track: "quist",
      tracks: "quists",
      tracking: "quisting",
      products: "plimps",
      product: "plimp",
      jacket: "flibber",
      jackets: "flibbers",
      tent: "tronk",
      tents: "tronks",
      stoves: "drabs",
      return: "snarf",
      returns: "snarfs",
      policy: "canon",
      postage: "wump",
      shop: "blarn",
      lookup: "frimble",
      customer: "yulp",
      price: "zent"
    }
    const say = (said: string) =>
      said.replace(/[A-Za-z]+/g, (word) => {
        const other = names[word.toLowerCase()]
        return other === undefined ? word : /^[A-Z]/.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other
      })
    const rename = (name: string) => name.split("_").map(say).join("_")
    const renamed = outfitter.map(({ description, name, parameters }): ToolDefinition => {
      const properties = parameters["properties"] as { readonly [key: string]: { readonly description: string } }
      return {
        name: rename(name),
        description: say(description),
        parameters: {
          ...parameters,
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, schema]) => [
              rename(key),
              JSON.parse(
                say(JSON.stringify(schema).replaceAll('"description"', '"§"')).replaceAll('"§"', '"description"')
              )
            ])
          ),
          required: (parameters["required"] as ReadonlyArray<string>).map(rename)
        }
      }
    })
    const wrong = outfitterRows
      .filter(([, , must]) => must === "must")
      .flatMap(([request, expected]) => {
        const other = expected.map(
          ([name, params]) =>
            [
              rename(name),
              Object.fromEntries(
                Object.entries(params).map(([key, value]) => [
                  rename(key),
                  typeof value === "string" ? say(value) : value
                ])
              )
            ] as const
        )
        return [
          [request, made(request, outfitter.slice().reverse()), expected] as const,
          [say(request), made(say(request), renamed), other] as const
        ]
      })
      .filter(([, got, expected]) => !agrees(got, expected))
    assert.deepStrictEqual(wrong, [])
  })

  for (const { expected, got, request } of results.filter(({ must }) => must)) {
    it(`understands: ${request}`, () => {
      assert.isTrue(agrees(got, expected), JSON.stringify(got))
    })
  }
})

type Handlers = { readonly [name: string]: (params: any) => unknown }

/** Plays one request to its answer: the calls of all turns, and the answer. */
const play = (request: string, tools: ReadonlyArray<ToolDefinition>, handlers: Handlers) => {
  const messages: Array<LlmClient.Message> = [{ role: "user", content: request }]
  const calls: Array<Call> = []
  for (let round = 0; round < 10; round++) {
    const response = OfflineModel.respond({ messages, tools })
    const pending = LlmClient.toolCalls(response)
    if (pending.length === 0) return { calls, said: LlmClient.text(response) }
    messages.push(LlmClient.assistantMessage(response))
    calls.push(...pending.map(({ name, params }) => [name, params as Params] as const))
    messages.push({
      role: "tool",
      content: pending.map(({ id, name, params }) => {
        const result = handlers[name]!(params)
        const isFailure = result instanceof Error
        return {
          type: "tool-result",
          id,
          name,
          isFailure,
          result: isFailure ? result.message : result,
          providerExecuted: false
        }
      })
    })
  }
  return assert.fail("still calling after ten rounds")
}

const failed = (name: string, message: string) => new Error(`Error: "${name}" failed: ${message}`)
const invalid = (name: string, issues: string) =>
  new Error(`Error: The arguments of "${name}" are not valid: ${issues}. Correct the arguments and call the tool again`)

const order = {
  order_id: "1042",
  status: "shipped",
  carrier: "Nordpost",
  estimated_delivery: "2031-04-09",
  tracking_number: "NP7001",
  customer: "Ida Holm",
  items: [
    { sku: "T-9", name: "Kettle", quantity: 1, price: 34.5 },
    { sku: "T-4", name: "Mug", quantity: 4, price: 6 }
  ],
  total: 58.5,
  currency: "EUR"
}

describe("OfflineModel, after a call", () => {
  it("never uses a tool's name or words of an error as an argument", () => {
    for (const message of [
      failed("lookup_order", "There is no order 9999"),
      failed("lookup_order", 'Order id "7777" is not valid, expected one of "1042", "1043"'),
      invalid("lookup_order", 'order_id: Expected a string matching the pattern ^\\d{4}$, actual "9999"'),
      invalid("lookup_order", 'order_id: must be one of ["1042","1043"]'),
      invalid("lookup_order", 'order_id: must be one of ["9998","9990"]')
    ]) {
      const { calls } = play("Where is order 9999?", outfitter, { lookup_order: () => message })
      assert.deepStrictEqual(calls, [["lookup_order", { order_id: "9999" }]], message.message)
    }
  })

  it("reports failures without the tool's name or advice to a model", () => {
    const say = (error: Error) => play("Where is order 9999?", outfitter, { lookup_order: () => error }).said
    assert.strictEqual(say(failed("lookup_order", "There is no order 9999")), "There is no order 9999.")
    for (const error of [
      failed("lookup_order", "connection reset"),
      invalid("lookup_order", "order_id: is too long"),
      new Error('Error: "lookup_order" did not end within 500 ms and was stopped'),
      new Error(
        'Error: "lookup_order" was not allowed: busy. Do not call it again with the same arguments; find another way or tell the user'
      )
    ]) {
      assert.notMatch(say(error), /lookup_order|call (?:it|the tool) again|"/, error.message)
      assert.isAbove(say(error).length, 10)
    }
  })

  it("reports both successes and failures", () => {
    const { calls, said } = play("Where are orders 9999 and 1042?", outfitter, {
      lookup_order: ({ order_id }) =>
        order_id === "1042" ? order : failed("lookup_order", `There is no order ${order_id}`)
    })
    assert.strictEqual(calls.length, 2)
    assert.include(said, "There is no order 9999")
    assert.include(said, "shipped")
  })

  it("says when no tool makes the requested change", () => {
    const { said } = play("Cancel order 1042 please", outfitter, { lookup_order: () => order })
    assert.match(said, /^I have no tool that could cancel it/)
    assert.include(said, "shipped")
    assert.notInclude(play("Where is order 1042?", outfitter, { lookup_order: () => order }).said, "no tool")
  })

  it("lists the named fields first, with readable dates, and does not repeat the arguments", () => {
    const answer = (question: string) => play(question, outfitter, { lookup_order: () => order }).said
    assert.match(answer("What is the total of order 1042?"), /^Total: 58\.5; status: shipped; /)
    assert.match(answer("Who is the customer of order 1042?"), /^Customer: Ida Holm; /)
    assert.match(
      answer("Which items are in order 1042?"),
      /^Items: Kettle \(quantity 1, price 34\.5\); Mug \(quantity 4, price 6\); /
    )
    assert.include(answer("When does order 1042 arrive?"), "estimated delivery: 9 April 2031")
    assert.notInclude(answer("Where is order 1042?"), "order id")
  })

  it("lists the first records, one per line", () => {
    const stock = Array.from({ length: 9 }, (_, index) => ({
      sku: `S-${index}`,
      name: `Lamp ${index}`,
      price: 20 + 10 * index,
      currency: "EUR"
    }))
    const many = play("Find lamps", outfitter, { search_products: () => stock }).said
    assert.match(many, /^I found 9:\n1\. Lamp 0 \(price 20, currency EUR\)\n2\. /)
    assert.strictEqual(many.split("\n").length, 7)
    assert.include(many, "and 4 more")
    assert.strictEqual(play("Find lamps", outfitter, { search_products: () => [] }).said, "Nothing was found.")
  })

  it("decides in time linear in the number of tools", () => {
    const tools = [...outfitter, ...library, ...clinic, ...inn]
    const requests = domains.flatMap(([, , rows]) => rows.map(([request]) => request))
    Growth.assertLinear({
      input: (count) => tools.slice(0, count),
      size: tools.length,
      times: 4,
      run: (some) => requests.forEach((request) => void made(request, some))
    })
  })
})
