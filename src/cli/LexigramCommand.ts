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
import * as DbCommand from "./data/DbCommand.js"
import * as GraphCommand from "./data/GraphCommand.js"
import * as MemoryCommand from "./data/MemoryCommand.js"
import * as PromptsCommand from "./data/PromptsCommand.js"
import * as SessionsCommand from "./data/SessionsCommand.js"
import * as SkillsCommand from "./data/SkillsCommand.js"

/**
 * @category constants
 */
export const command = Command.make("lexigram").pipe(
  Command.withDescription("See what agents do, and work with them from a terminal"),
  Command.withSubcommands([
    RunCommand.command,
    ChatCommand.command,
    ServeCommand.command,
    RunsCommand.command,
    SessionsCommand.command,
    MemoryCommand.command,
    SkillsCommand.command,
    PromptsCommand.command,
    GraphCommand.command,
    EvalCommand.command,
    DbCommand.command,
    DoctorCommand.command,
    InitCommand.command
  ])
)
