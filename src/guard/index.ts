/**
 * Recognizes tokens, private keys, credentials in URLs and headers, and values assigned to secret names.
 *
 * @since 0.1.0
 */
export * as CredentialEntities from "./entity/CredentialEntities.js"

/**
 * Runs guards in order or in parallel, and opens windows on texts being written.
 *
 * @since 0.1.0
 */
export * as DefaultGuardPipeline from "./pipeline/DefaultGuardPipeline.js"

/**
 * Recognizes email addresses and the labels that can end a domain name.
 *
 * @since 0.1.0
 */
export * as EmailEntity from "./entity/EmailEntity.js"

/**
 * The guard port: a guard checks text on its way into or out of a run and passes it, warns, redacts or blocks.
 *
 * @since 0.1.0
 */
export * as Guard from "./pipeline/Guard.js"

/**
 * Guard settings of an application, given in code or read from the environment.
 *
 * @since 0.1.0
 */
export * as GuardConfig from "./GuardConfig.js"

/**
 * Errors of guards.
 *
 * @since 0.1.0
 */
export * as GuardError from "./pipeline/GuardError.js"

/**
 * Hook points and bus events of guards. They contain no checked text.
 *
 * @since 0.1.0
 */
export * as GuardEvents from "./pipeline/GuardEvents.js"

/**
 * Metrics of guards, on Effect's `Metric`, with the labels `guard`, `stage` and `action`.
 *
 * @since 0.1.0
 */
export * as GuardMetrics from "./pipeline/GuardMetrics.js"

/**
 * The guard pipeline port: all guards of an application or an agent as one service, used by the executor and the tool
 * runner.
 *
 * @since 0.1.0
 */
export * as GuardPipeline from "./pipeline/GuardPipeline.js"

/**
 * Builds the pipeline of built-in guards for a configuration.
 *
 * @since 0.1.0
 */
export * as GuardPresets from "./GuardPresets.js"

/**
 * Detects prompt injections by documented heuristics: it asks no model, and nothing leaves the process.
 *
 * @since 0.1.0
 */
export * as InjectionDetector from "./injection/InjectionDetector.js"

/**
 * Guard against prompt injections. It uses heuristics and asks no model.
 *
 * @since 0.1.0
 */
export * as InjectionGuard from "./injection/InjectionGuard.js"

/**
 * The rules of the injection detector, each with its purpose and weight. A single match proves nothing; the detector
 * combines the weights of all matches.
 *
 * @since 0.1.0
 */
export * as InjectionRules from "./injection/InjectionRules.js"

/**
 * Guard that requires a text to be JSON of a given shape.
 *
 * @since 0.1.0
 */
export * as JsonShapeGuard from "./JsonShapeGuard.js"

/**
 * Guard that asks a model to judge a text. It finds what heuristics cannot, at the cost of a call.
 *
 * @since 0.1.0
 */
export * as JudgeGuard from "./JudgeGuard.js"

/**
 * Guard that limits the length of a text.
 *
 * @since 0.1.0
 */
export * as LengthGuard from "./LengthGuard.js"

/**
 * Recognizes national identifiers of people, companies and cars, and two kinds of text that are not secret by
 * themselves: web addresses and dates.
 *
 * @since 0.1.0
 */
export * as NationalEntities from "./entity/NationalEntities.js"

/**
 * Recognizes IP and hardware addresses.
 *
 * @since 0.1.0
 */
export * as NetworkEntities from "./entity/NetworkEntities.js"

/**
 * Recognizes payment card numbers, bank accounts and cryptocurrency wallets.
 *
 * @since 0.1.0
 */
export * as PaymentEntities from "./entity/PaymentEntities.js"

/**
 * Recognizes email, IP and hardware addresses, and US social security numbers.
 *
 * @since 0.1.0
 */
export * as PersonalEntities from "./entity/PersonalEntities.js"

/**
 * Recognizes telephone numbers: international ones of every country, and national forms of some countries.
 *
 * @since 0.1.0
 */
export * as PhoneEntity from "./entity/PhoneEntity.js"

/**
 * Detects personal data and secrets: runs many recognizers at once, weighs their candidates and merges them into places
 * that do not overlap.
 *
 * @since 0.1.0
 */
export * as PiiDetector from "./pii/PiiDetector.js"

/**
 * The built-in recognizers, selected by type.
 *
 * @since 0.1.0
 */
export * as PiiEntities from "./pii/PiiEntities.js"

/**
 * Recognizer of one kind of personal data or secret, by its shape, a checksum and the words around it.
 *
 * @since 0.1.0
 */
export * as PiiEntity from "./entity/PiiEntity.js"

/**
 * Guard that finds personal data and secrets and redacts, blocks or warns.
 *
 * @since 0.1.0
 */
export * as PiiGuard from "./pii/PiiGuard.js"

/**
 * Guard that finds keys, tokens and passwords and redacts, blocks or warns.
 *
 * @since 0.1.0
 */
export * as SecretGuard from "./pii/SecretGuard.js"

/**
 * Guard that keeps given words and phrases out of a text.
 *
 * @since 0.1.0
 */
export * as TopicGuard from "./TopicGuard.js"

/**
 * Guard against invisible characters: zero-width, control, hidden or stacked ones. It leaves them byte for byte where a
 * script needs them (emoji sequences, Persian and Indic joiners, marks of Arabic and Hebrew, word breaks of Thai,
 * flags).
 *
 * @since 0.1.0
 */
export * as UnicodeGuard from "./UnicodeGuard.js"

/**
 * Recognizes keys and tokens of common vendors by their prefixes.
 *
 * @since 0.1.0
 */
export * as VendorEntities from "./entity/VendorEntities.js"

/**
 * Makes guards from windows, and a guard result from findings.
 *
 * @since 0.1.0
 */
export * as WindowGuard from "./pipeline/WindowGuard.js"
