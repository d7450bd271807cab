/**
 * Documents: a handbook and a page are indexed, found by words with their neighbors, and ingested again after a change.
 * Nothing leaves the process.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { Document, DocumentIndex, InMemoryDocumentIndex } from "effect-lexigram/document"

const owner = "ann"

const handbook = `# Handbook of the harbor

## Mooring

Boats moor at the eastern quay. A night costs nine crowns, paid at the kiosk.

## Fuel

Diesel is sold until noon. Petrol is not sold.

| Fuel | Price |
| --- | --- |
| Diesel | 18 crowns |
`

const page = `<html><head><title>Opening hours</title><style>p { color: red }</style></head>
<body><nav>Home | Contact</nav><h1>Opening hours</h1><p>The kiosk opens at eight in summer.</p></body></html>`

const program = Effect.gen(function* () {
  const index = yield* DocumentIndex.DocumentIndex
  yield* index.ingest(owner, [
    { id: "handbook.md", content: handbook, tags: ["harbor"] },
    { id: "hours.html", content: page, tags: ["harbor", "kiosk"] }
  ])
  yield* Console.log("indexed:", yield* index.count(owner))

  for (const text of ["What does a night at the quay cost?", "when does the kiosk open?", "price of diesel"]) {
    const { hits } = yield* index.search(owner, { text, limit: 1 })
    for (const hit of hits) {
      yield* Console.log(`\n${text}\n  ${hit.document.title} (${Document.placeOf(hit)}):`, JSON.stringify(hit.text))
    }
  }

  const changed = handbook.replace("nine crowns", "ten crowns")
  const [again] = yield* index.ingest(owner, [{ id: "handbook.md", content: changed, tags: ["harbor"] }])
  yield* Console.log("\ningested again:", again)
  yield* Console.log("another owner finds:", yield* index.search("bob", { text: "diesel" }))
})

void Effect.runPromise(Effect.provide(program, InMemoryDocumentIndex.layer()))
