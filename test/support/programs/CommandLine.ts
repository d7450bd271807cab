/** The command line as a program. */
import { Cli } from "effect-lexigram/cli"

Cli.main(process.argv)
