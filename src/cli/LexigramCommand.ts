/**
 * The command line as one command.
 *
 * @private
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as ChatCommand from "./command/ChatCommand.js"
import * as DoctorCommand from "./command/DoctorCommand.js"
import * as EvalCommand from "./command/EvalCommand.js"
import * as InitCommand from "./command/InitCommand.js"
import * as RunCommand from "./command/RunCommand.js"
import * as RunsCommand from "./command/RunsCommand.js"
import * as ServeCommand from "./command/ServeCommand.js"

/**
 * @category constants
 */
export const command = Command.make("lexigram").pipe(
  Command.withDescription("See what agents do, and work with them from a terminal"),
  Command.withSubcommands([
    RunCommand.command,
    ChatCommand.command,
    RunsCommand.command,
    ServeCommand.command,
    InitCommand.command,
    DoctorCommand.command,
    EvalCommand.command
  ])
)
