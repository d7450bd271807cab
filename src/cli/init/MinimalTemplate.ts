/**
 * A new project with one agent, for the terminal.
 *
 * @private
 * @since 0.1.0
 */
import * as ClerkFiles from "./ClerkFiles.js"
import type * as Project from "./Project.js"

const config = `import * as Layer from "effect/Layer"
import { CliConfig, ModelName } from "effect-lexigram/cli"
import { Application } from "effect-lexigram/application"
import { clerk } from "./src/Clerk.js"

const agents = [clerk]

export default CliConfig.make({
  agents,
  userId: "me",
  layer: ({ model = "offline" }) => Layer.provide(Application.layerMemory(agents), ModelName.layer(model))
})
`

const guide = `Ask the agent, or talk with it:

\`\`\`sh
npx lexigram run "Where is order 17?"
npm run chat
\`\`\`

The agent is \`src/Clerk.ts\`. What it runs on is said by \`lexigram.config.ts\`: everything is in the memory of one process.
\`Application.layerSqlite\` in the place of \`Application.layerMemory\` keeps runs and conversations (on Node 20 with the package \`libsql\`).
`

/**
 * @category constants
 */
export const template: Project.Template = {
  description: "An agent for the terminal.",
  scripts: { chat: "lexigram chat" },
  packages: [],
  files: { "lexigram.config.ts": config, ...ClerkFiles.files },
  guide
}
