/**
 * Ids in the arguments of commands.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Schema from "effect/Schema"

/**
 * An id that has a place in the path of an address.
 *
 * @category constructors
 */
export const make = <A extends string>(name: string, id: Schema.Schema<A, string>, what: string): Args.Args<A> =>
  Args.text({ name }).pipe(
    Args.withSchema(
      id.pipe(
        Schema.filter((text) => text !== "." && text !== ".." && !/\p{Surrogate}/u.test(text), {
          message: () => "It is no id"
        })
      )
    ),
    Args.withDescription(`The id of ${what}`)
  )
