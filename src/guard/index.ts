/**
 * Tokens, private keys, credentials in URLs and headers, and values that are assigned to names of secrets.
 *
 * @since 0.1.0
 */
export * as CredentialEntities from "./entity/CredentialEntities.js"

/**
 * Asks guards in order or all at once, and opens windows on texts being written.
 *
 * @since 0.1.0
 */
export * as DefaultGuardPipeline from "./pipeline/DefaultGuardPipeline.js"

/**
 * Recognizes email addresses, and decides which labels end a domain name.
 *
 * @since 0.1.0
 */
export * as EmailEntity from "./entity/EmailEntity.js"

/**
 * A guard looks at text on its way into or out of a run and passes it, warns, redacts or blocks.
 *
 * @since 0.1.0
 */
export * as Guard from "./pipeline/Guard.js"

/**
 * Which guards an application has, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as GuardConfig from "./GuardConfig.js"

/**
 * How guards stop a run.
 *
 * @since 0.1.0
 */
export * as GuardError from "./pipeline/GuardError.js"

/**
 * Where guards can be watched: places for hooks, and what is told on the event bus. Nothing here holds checked text.
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
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
 *
 * @since 0.1.0
 */
export * as GuardPipeline from "./pipeline/GuardPipeline.js"

/**
 * The pipeline of the guards that come with the library, as a configuration wants them.
 *
 * @since 0.1.0
 */
export * as GuardPresets from "./GuardPresets.js"

/**
 * Finds instructions that somebody else wants a model to follow, by documented heuristics: no model is asked, nothing
 * leaves the process.
 *
 * @since 0.1.0
 */
export * as InjectionDetector from "./injection/InjectionDetector.js"

/**
 * Keeps out instructions that come from somebody else than those who may give them: by heuristics, at once, without a
 * model.
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
 * Texts that have to be JSON of a certain shape.
 *
 * @since 0.1.0
 */
export * as JsonShapeGuard from "./JsonShapeGuard.js"

/**
 * A model judges a text: what heuristics cannot know, at the price of a call.
 *
 * @since 0.1.0
 */
export * as JudgeGuard from "./JudgeGuard.js"

/**
 * No text longer than a limit.
 *
 * @since 0.1.0
 */
export * as LengthGuard from "./LengthGuard.js"

/**
 * Identifiers that countries give to people, companies and cars, and two kinds of text that are no secret by
 * themselves: addresses of the web and dates.
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
 * Numbers of payment cards, bank accounts and wallets of crypto-currencies.
 *
 * @since 0.1.0
 */
export * as PaymentEntities from "./entity/PaymentEntities.js"

/**
 * Recognizes addresses of people and their machines, and the social security number of the United States.
 *
 * @since 0.1.0
 */
export * as PersonalEntities from "./entity/PersonalEntities.js"

/**
 * Telephone numbers: international ones of every country, and those written as people of some countries write them at
 * home.
 *
 * @since 0.1.0
 */
export * as PhoneEntity from "./entity/PhoneEntity.js"

/**
 * Finds personal data and secrets in texts: many recognisers asked at once, what they find weighed and made into places
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
 * One kind of personal data or secret and how it is recognised: by its shape, a checksum, and the words around it.
 *
 * @since 0.1.0
 */
export * as PiiEntity from "./entity/PiiEntity.js"

/**
 * A guard that finds personal data and secrets and takes them out, or blocks, or warns.
 *
 * @since 0.1.0
 */
export * as PiiGuard from "./pii/PiiGuard.js"

/**
 * A guard that finds keys, tokens and passwords and takes them out, or blocks, or warns.
 *
 * @since 0.1.0
 */
export * as SecretGuard from "./pii/SecretGuard.js"

/**
 * Words and phrases that must not be talked of.
 *
 * @since 0.1.0
 */
export * as TopicGuard from "./TopicGuard.js"

/**
 * Characters nobody sees: invisible, controlling, hidden or piled up. Text in which they do their proper work (emoji
 * sequences, Persian and Indic joiners, marks of Arabic and Hebrew, word breaks of Thai, flags) is left as it is, byte
 * for byte.
 *
 * @since 0.1.0
 */
export * as UnicodeGuard from "./UnicodeGuard.js"

/**
 * Keys and tokens of the common vendors, known by their prefixes.
 *
 * @since 0.1.0
 */
export * as VendorEntities from "./entity/VendorEntities.js"

/**
 * Guards that find things at places of a text, and the result that findings come to.
 *
 * @since 0.1.0
 */
export * as WindowGuard from "./pipeline/WindowGuard.js"
