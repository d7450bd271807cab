/**
 * The privileged API of the studio: what developers see of their agents beyond the HTTP API of all callers. What
 * belongs to a user is that of the caller alone; definitions, budgets, experiments and prompts are those of the server.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { Failed } from "../../http/api/ApiStatus.js"
import * as StudioAccessApi from "./StudioAccessApi.js"
import * as StudioDurableApi from "./StudioDurableApi.js"
import * as StudioEvalsApi from "./StudioEvalsApi.js"
import * as StudioGovernanceApi from "./StudioGovernanceApi.js"
import * as StudioMemoryApi from "./StudioMemoryApi.js"
import * as StudioPromptApi from "./StudioPromptApi.js"
import * as StudioRunApi from "./StudioRunApi.js"
import * as StudioSessionApi from "./StudioSessionApi.js"
import * as StudioToolApi from "./StudioToolApi.js"

/**
 * Failures are `application/problem+json` (`ApiError`). Callers that are no developers get 403.
 *
 * @since 0.1.0
 * @category constants
 */
export class StudioApi extends HttpApi.make("effect-lexigram/studio/StudioApi")
  .add(StudioAccessApi.access)
  .add(StudioAccessApi.session)
  .add(StudioGovernanceApi.governance)
  .add(StudioDurableApi.durable)
  .add(StudioEvalsApi.evals)
  .add(StudioRunApi.group)
  .add(StudioMemoryApi.group)
  .add(StudioPromptApi.group)
  .add(StudioSessionApi.group)
  .add(StudioToolApi.group)
  .addError(Failed)
  .prefix("/studio/api")
  .annotate(OpenApi.Title, "Studio")
  .annotate(OpenApi.Version, "1") {}
