/**
 * Serves agents over the AG-UI protocol 1.0: `HttpAgent` of `@ag-ui/client` talks to an agent at `/agui/<agent>`.
 *
 * @since 0.1.0
 */
export * as AgUi from "./agui/AgUi.js"

/**
 * The events of the AG-UI protocol 1.0 that agents emit.
 *
 * @since 0.1.0
 */
export * as AgUiEvent from "./agui/AgUiEvent.js"

/**
 * The messages of the AG-UI protocol, as a schema: what a client sends is decoded by it.
 *
 * @since 0.1.0
 */
export * as AgUiMessage from "./agui/AgUiMessage.js"

/**
 * Turns the events of a run into the events of a run of the AG-UI protocol.
 *
 * @since 0.1.0
 */
export * as AgUiStream from "./agui/AgUiStream.js"

/**
 * The HTTP API of agents: one definition for the server, the OpenAPI page and the typed client.
 *
 * @since 0.1.0
 */
export * as AgentApi from "./api/AgentApi.js"

/**
 * A client of `AgentApi` for browsers and servers, typed by the same definition. It follows runs across broken
 * connections.
 *
 * @since 0.1.0
 */
export * as AgentClient from "./api/AgentClient.js"

/**
 * Serves agents over HTTP by `AgentApi`: with `@effect/platform` servers, or as a handler of web requests.
 *
 * @since 0.1.0
 */
export * as AgentServer from "./api/AgentServer.js"

/**
 * Failures of requests over HTTP, as problem details (RFC 9457).
 *
 * @since 0.1.0
 */
export * as ApiError from "./api/ApiError.js"

/**
 * How much one caller may ask of a server.
 *
 * @since 0.1.0
 */
export * as ApiLimits from "./api/ApiLimits.js"

/**
 * What leaves a server: runs, answers, agents and requests that wait for a person, in their public view.
 *
 * @since 0.1.0
 */
export * as ApiModels from "./api/ApiModels.js"

/**
 * Who calls: the port that every edge asks before it does anything. User and tenant come from verified credentials and
 * from nowhere else.
 *
 * @since 0.1.0
 */
export * as Authentication from "./api/Authentication.js"

/**
 * Server-sent events, as the HTML standard describes them.
 *
 * @since 0.1.0
 */
export * as EventStream from "./api/EventStream.js"

/**
 * A server of Node that starts and ends well. It listens before its application is built, and `Scope` closes the
 * application before the server: without this, a request that comes meanwhile is never answered, and the end waits for
 * connections on which nothing was asked, such as those that browsers open ahead.
 *
 * @since 0.1.0
 */
export * as GracefulServer from "./request/GracefulServer.js"

/**
 * Serves agents as models of OpenAI's API, for its clients and for those of the many tools that speak it.
 *
 * @since 0.1.0
 */
export * as OpenAiServer from "./openai/OpenAiServer.js"

/**
 * Tells an address of the end of a run: the port.
 *
 * @since 0.1.0
 */
export * as RunWebhooks from "./webhook/RunWebhooks.js"

/**
 * Sessions of requests, for `@effect/platform` servers: finds the session of a request, or creates one, and binds it to
 * the handling of the request.
 *
 * @since 0.1.0
 */
export * as SessionMiddleware from "./session/SessionMiddleware.js"

/**
 * What leaves a server of sessions, in its public view: without prompts, costs, and the arguments and results of tools.
 *
 * @since 0.1.0
 */
export * as SessionModels from "./api/SessionModels.js"

/**
 * Verifies tokens (JWT, RFC 7519) that name the user of a request and, optionally, the session. The optional package
 * `jose` is loaded when a verifier is made.
 *
 * @since 0.1.0
 */
export * as SessionToken from "./session/SessionToken.js"

/**
 * The endpoints of chats of AI SDK UI: what `DefaultChatTransport` of `ai` 6 and 7 sends to them.
 *
 * @since 0.1.0
 */
export * as UiApi from "./ui/UiApi.js"

/**
 * Serves chats of AI SDK UI: `useChat` of `@ai-sdk/react` 3 and 4 talks to an agent at `/ui/chat/<agent>`.
 *
 * @since 0.1.0
 */
export * as UiChat from "./ui/UiChat.js"

/**
 * The parts of the UI message stream protocol of AI SDK UI (version 1), which `ai` 6 and 7 read.
 *
 * @since 0.1.0
 */
export * as UiChunk from "./ui/UiChunk.js"

/**
 * The messages of AI SDK UI (`UIMessage` of `ai` 6 and 7), as a schema: what a page sends is decoded by it.
 *
 * @since 0.1.0
 */
export * as UiMessage from "./ui/UiMessage.js"

/**
 * Converts between messages of AI SDK UI, messages for models, the input of a run, and the turns of sessions.
 *
 * @since 0.1.0
 */
export * as UiMessages from "./ui/UiMessages.js"

/**
 * Turns the events of a run into the chunks of one message of AI SDK UI.
 *
 * @since 0.1.0
 */
export * as UiStream from "./ui/UiStream.js"

/**
 * Failures of webhooks.
 *
 * @since 0.1.0
 */
export * as WebhookError from "./webhook/WebhookError.js"

/**
 * Signatures of webhooks by Standard Webhooks (standardwebhooks.com): HMAC with SHA-256 over id, time and body.
 *
 * @since 0.1.0
 */
export * as WebhookSignature from "./webhook/WebhookSignature.js"
