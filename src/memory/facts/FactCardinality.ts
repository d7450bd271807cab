/**
 * Decides how many objects a predicate has at a time.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export type Cardinality = "one" | "many"

const splitList = (texts: string): ReadonlyArray<string> => texts.split(",").map((text) => text.trim())

/**
 * Predicates with one object at a time per subject, in lower case. Predicates that begin with `has favourite ` or `has
 * favorite ` belong to them, too.
 *
 * @since 0.1.0
 * @category constants
 */
export const single: ReadonlyArray<string> = [
  ...splitList(
    "lives in, lives at, live in, resides in, is living in, is based in, is located in, home is, hometown is"
  ),
  ...splitList("works at, works for, works as, work at, work for, is employed by, is employed at, job is, employer is"),
  ...splitList(
    "is called, is named, name is, goes by, has name, has nickname, has surname, has first name, has last name"
  ),
  ...splitList(
    "has age, age is, is aged, has birthday, birthday is, was born in, was born on, was born at, has date of birth"
  ),
  ...splitList("is married to, is engaged to, has nationality, has gender, has height, has weight, has blood type"),
  ...splitList("has address, has home address, has email, has email address, has e-mail, has phone, has phone number"),
  ...splitList(
    "has job, has job title, has title, has occupation, has profession, has employer, has boss, has manager"
  ),
  ...splitList("has native language, has mother tongue, has time zone, has timezone, has hometown, has capital"),
  ...splitList("has status, has price, has version, has deadline, has due date, has owner")
]

const ones: ReadonlySet<string> = new Set(single)

/**
 * `one` for the predicates in `single`, `many` for all others.
 *
 * @since 0.1.0
 * @category constructors
 */
export const standard = (predicate: string): Cardinality =>
  ones.has(predicate) || predicate.startsWith("has favourite ") || predicate.startsWith("has favorite ")
    ? "one"
    : "many"
