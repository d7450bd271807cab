/** Generated parameters of tools in draft-07 and 2020-12, each with arguments that fit and arguments that do not. */
import * as FastCheck from "effect/FastCheck"

export type Draft = "draft-07" | "2020-12"

type Json = { readonly [key: string]: unknown }

/** `bad` has a fault. `defs` go to the top of the document. */
interface Node {
  readonly schema: Json
  readonly good: unknown
  readonly bad: unknown
  readonly defs?: Json
}

type Nodes = FastCheck.Arbitrary<Node>

export interface Parameters {
  readonly draft: Draft
  readonly schema: Json
  readonly good: Json
  readonly bad: Json
}

const uris = {
  "draft-07": "http://json-schema.org/draft-07/schema#",
  "2020-12": "https://json-schema.org/draft/2020-12/schema"
}

/** Only meta-schemas need it. */
const $vocabulary = { "https://json-schema.org/draft/2020-12/vocab/core": true }

const names = FastCheck.stringMatching(/^[a-z]{3,8}$/)
const labels = FastCheck.stringMatching(/^d[0-9a-f]{12}$/)

const leaf = (schema: Json, good: unknown, bad: unknown): Node => ({ schema, good, bad })

const scalars: Nodes = FastCheck.oneof(
  FastCheck.string().map((good) => leaf({ type: "string" }, good, { no: "text" })),
  FastCheck.integer().map((good) => leaf({ type: "integer" }, good, 0.5)),
  FastCheck.double({ noNaN: true, noDefaultInfinity: true })
    .filter((good) => !Object.is(good, -0))
    .map((good) => leaf({ type: "number" }, good, [good])),
  FastCheck.boolean().map((good) => leaf({ type: "boolean" }, good, "maybe")),
  FastCheck.constantFrom(
    leaf({ type: "null" }, null, "something"),
    leaf({ type: ["string", "null"] }, null, 1),
    leaf({ type: "string", minLength: 2, maxLength: 4 }, "abc", "abcde"),
    leaf({ type: "string", minLength: 1 }, "é", ""),
    leaf({ type: "string", pattern: "^[a-z]+-\\d{2}$" }, "ab-12", "AB-12"),
    leaf({ type: "string", format: "date" }, "2026-02-28", 1),
    leaf({ type: "string", format: "email" }, "a@example.com", 1),
    leaf({ type: "string", format: "uuid" }, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", 1),
    leaf({ type: "string", contentEncoding: "base64", contentMediaType: "image/png" }, "iVBORw==", 1),
    leaf({ type: "number", minimum: 1, maximum: 5 }, 5, 5.5),
    leaf({ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5, 1),
    leaf({ type: "integer", multipleOf: 3, default: 3 }, 9, 10),
    leaf({ enum: ["a", 1, null] }, 1, "b"),
    leaf({ const: { a: [1] } }, { a: [1] }, { a: [2] }),
    leaf({ type: "string", title: "T", description: "D", examples: ["x"], readOnly: true }, "x", 1),
    leaf({ type: "string", writeOnly: true, $comment: "kept" }, "x", 1),
    leaf({ type: "array", uniqueItems: true }, [1, 2], [1, 1]),
    leaf({ type: "array", minItems: 1, maxItems: 2 }, [null], []),
    leaf({ type: "array", contains: { const: 7 } }, [1, 7], [1]),
    leaf({ type: "object", minProperties: 1, maxProperties: 2 }, { a: 1 }, {}),
    leaf({ type: "object", propertyNames: { pattern: "^[a-z]+$" } }, { abc: 1 }, { ABC: 1 })
  )
)

const own: Readonly<Record<Draft, Nodes>> = {
  "draft-07": FastCheck.constantFrom(
    leaf({ type: "object", dependencies: { a: ["b"] } }, { a: 1, b: 2 }, { a: 1 }),
    leaf({ type: "object", dependencies: { a: { required: ["b"] } } }, { a: 1, b: 2 }, { a: 1 })
  ),
  "2020-12": FastCheck.constantFrom(
    leaf({ type: "object", dependentRequired: { a: ["b"] } }, { a: 1, b: 2 }, { a: 1 }),
    leaf({ type: "object", dependentSchemas: { a: { required: ["b"] } } }, { a: 1, b: 2 }, { a: 1 }),
    leaf({ type: "array", contains: { type: "string" }, minContains: 2, maxContains: 3 }, ["a", "b", 1], ["a"]),
    leaf({ type: "string", deprecated: true, contentMediaType: "application/json", contentSchema: {} }, "{}", 1)
  )
}

/** A literal with a field `then` would pass for a promise. */
const branch = "then" as const

const conditional = (condition: unknown, yes: unknown, no: unknown): Json => ({
  if: condition,
  [branch]: yes,
  else: no
})

/** A node whose values are values of another one, or contain them. */
const around = ({ bad, good, schema, ...rest }: Node): ReadonlyArray<Node> => [
  { ...rest, ...leaf({ allOf: [schema, {}] }, good, bad) },
  { ...rest, ...leaf({ anyOf: [schema, { const: "no such" }] }, good, bad) },
  { ...rest, ...leaf({ oneOf: [{ const: "no such" }, schema] }, good, bad) },
  { ...rest, ...leaf({ not: { not: schema } }, good, bad) },
  { ...rest, ...leaf(conditional({ const: "no such" }, false, schema), good, bad) },
  { ...rest, ...leaf(conditional({}, schema, false), good, bad) },
  { ...rest, ...leaf({ type: "array", items: schema }, [good, good], [good, bad]) },
  { ...rest, ...leaf({ type: "object", additionalProperties: schema }, { k: good }, { k: bad }) },
  {
    ...rest,
    ...leaf(
      { type: "object", patternProperties: { "^x_": schema }, additionalProperties: false },
      { x_1: good },
      { x_1: bad }
    )
  }
]

const aroundOwn = (draft: Draft, { bad, good, schema, ...rest }: Node): ReadonlyArray<Node> =>
  draft === "draft-07"
    ? [{ ...rest, ...leaf({ type: "array", items: [schema], additionalItems: false }, [good], [good, 1]) }]
    : [
        { ...rest, ...leaf({ type: "array", prefixItems: [schema], items: false }, [good], [bad]) },
        {
          ...rest,
          ...leaf({ type: "array", allOf: [{ prefixItems: [schema] }], unevaluatedItems: false }, [good], [good, 1])
        },
        {
          ...rest,
          ...leaf(
            { type: "object", allOf: [{ properties: { a: schema } }], required: ["a"], unevaluatedProperties: false },
            { a: good },
            { a: good, b: 1 }
          )
        }
      ]

/** A node that is reached by a reference, by its path or its name. */
const references = (draft: Draft, label: string, node: Node): ReadonlyArray<Node> => {
  const shelf = draft === "draft-07" ? "definitions" : "$defs"
  const placed = (reference: Json, target: Json): Node => ({
    ...node,
    schema: reference,
    defs: { ...node.defs, [label]: target }
  })
  const byPath = placed({ $ref: `#/${shelf}/${label}` }, node.schema)
  // Paths inside of a schema with an `$id` start there.
  const byId =
    node.defs === undefined
      ? [
          placed(
            { $ref: `https://schemas.example/${label}` },
            { $id: `https://schemas.example/${label}`, ...node.schema }
          ),
          placed({ $ref: `${label}.json` }, { $id: `${label}.json`, ...node.schema })
        ]
      : []
  return draft === "draft-07"
    ? [byPath, ...byId, placed({ $ref: `#${label}` }, { $id: `#${label}`, allOf: [node.schema] })]
    : [
        byPath,
        ...byId,
        placed({ $ref: `#${label}`, description: "beside" }, { $anchor: label, allOf: [node.schema] }),
        placed({ $dynamicRef: `#${label}` }, { $dynamicAnchor: label, allOf: [node.schema] })
      ]
}

/** An object of fields, of which one is at fault. */
const objects = (fields: Nodes): Nodes =>
  FastCheck.uniqueArray(FastCheck.tuple(names, fields, FastCheck.boolean()), {
    minLength: 1,
    maxLength: 4,
    selector: ([name]) => name
  }).chain((all) =>
    FastCheck.tuple(FastCheck.nat(all.length - 1), FastCheck.constantFrom("field", "missing", "more")).map(
      ([at, fault]) => {
        const required = all.flatMap(([name, , isRequired], index) => (isRequired || index === at ? [name] : []))
        const good = Object.fromEntries(all.map(([name, { good }]) => [name, good]))
        const [name, { bad }] = all[at] as (typeof all)[number]
        const { [name]: _, ...without } = good
        return {
          schema: {
            type: "object",
            properties: Object.fromEntries(all.map(([name, { schema }]) => [name, schema])),
            required,
            additionalProperties: false
          },
          good,
          bad: fault === "field" ? { ...good, [name]: bad } : fault === "missing" ? without : { ...good, "": 1 },
          defs: Object.assign({}, ...all.map(([, { defs }]) => defs))
        }
      }
    )
  )

const nodes = (draft: Draft, depth: number): Nodes => {
  if (depth === 0) return FastCheck.oneof(scalars, own[draft])
  const inner = nodes(draft, depth - 1)
  return FastCheck.oneof(
    inner,
    objects(inner),
    inner.chain((node) => FastCheck.constantFrom(...around(node), ...aroundOwn(draft, node))),
    FastCheck.tuple(labels, inner).chain(([label, node]) => FastCheck.constantFrom(...references(draft, label, node)))
  )
}

/** Parameters whose schema declares its draft, or leaves it to its keywords. */
export const parameters: FastCheck.Arbitrary<Parameters> = FastCheck.constantFrom<Draft>("draft-07", "2020-12").chain(
  (draft) =>
    FastCheck.tuple(objects(nodes(draft, 3)), FastCheck.boolean()).map(([{ bad, defs, good, schema }, isDeclared]) => ({
      draft,
      schema: {
        ...(isDeclared ? { $schema: uris[draft] } : {}),
        ...(isDeclared && draft === "2020-12" ? { $vocabulary } : {}),
        ...schema,
        ...(Object.keys(defs ?? {}).length === 0 ? {} : { [draft === "draft-07" ? "definitions" : "$defs"]: defs })
      },
      good: good as Json,
      bad: bad as Json
    }))
)
