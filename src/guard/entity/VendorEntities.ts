/**
 * Recognizes keys and tokens of common vendors by their prefixes.
 *
 * @since 0.1.0
 */
import * as RandomText from "../../internal/text/RandomText.js"
import * as PiiEntity from "./PiiEntity.js"

// Longer tokens are found up to this length.
const maxLength = 4096

const url = /[A-Za-z0-9_-]/
const word = /[A-Za-z0-9]/

interface Token {
  readonly pattern: RegExp
  readonly more?: RegExp | undefined
  readonly confidence?: number | undefined
  readonly inContext?: number | undefined
  readonly validate?: ((value: string) => boolean) | undefined
}

const isVariedTail = (value: string): boolean => RandomText.isVaried(value.slice(Math.min(8, value.length - 8)))

/** A vendor's token: its prefix is proof unless filler follows. */
const token = (options: {
  readonly type: string
  readonly decidedBy: number
  readonly anyOf?: ReadonlyArray<string> | undefined
  readonly context?: ReadonlyArray<string> | undefined
  readonly around?: number | undefined
  readonly tokens: ReadonlyArray<Token>
}): PiiEntity.PiiEntity =>
  PiiEntity.fromPatterns({
    type: options.type,
    category: "secret",
    maxLength,
    decidedBy: options.decidedBy,
    around: options.around,
    needs: options.anyOf === undefined ? undefined : { anyOf: options.anyOf },
    context: options.context,
    patterns: options.tokens.map(({ confidence, inContext, more, pattern, validate }) => ({
      pattern,
      more,
      confidence: confidence ?? 0.97,
      inContext,
      validate: (value) => isVariedTail(value) && (validate === undefined || validate(value))
    }))
  })

/**
 * Access key ids, and secret access keys beside their names.
 *
 * @since 0.1.0
 * @category entities
 */
export const aws: PiiEntity.PiiEntity = token({
  type: "AWS_KEY",
  decidedBy: 64,
  around: 12,
  context: ["aws*", "*aws", "amazon*", "secretaccesskey", "secret access key", "s3", "iam"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9_])/ },
    {
      pattern: /(?<![A-Za-z0-9+/=_-]{1,2})(?<![A-Za-z0-9+/_-]=)[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])/,
      confidence: 0.2,
      inContext: 0.9,
      validate: (value) =>
        /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value) && RandomText.entropyOf(value) > 4
    },
    {
      pattern:
        /(?<=(?:[Ss]ecret[_-]?[Aa]ccess[_-]?[Kk]ey|SECRET_ACCESS_KEY|SECRET_KEY)["']?\s{0,3}[:=]\s{0,3}["']?)[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])/,
      confidence: 0.95,
      validate: (value) => RandomText.entropyOf(value) > 3.5
    }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const google: PiiEntity.PiiEntity = token({
  type: "GOOGLE_KEY",
  decidedBy: 64,
  anyOf: ["AIza", "ya29.", "GOCSPX-", "1//0"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/ },
    { pattern: /(?<![A-Za-z0-9_.-])ya29\.[A-Za-z0-9_-]{20}/, more: /[A-Za-z0-9_.-]/ },
    { pattern: /(?<![A-Za-z0-9_-])GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])/ },
    { pattern: /(?<![A-Za-z0-9_/-])1\/\/0[A-Za-z0-9_-]{30}/, more: url, confidence: 0.9 }
  ]
})

/**
 * Storage account and service bus keys, shared access signatures, client secrets.
 *
 * @since 0.1.0
 * @category entities
 */
export const azure: PiiEntity.PiiEntity = token({
  type: "AZURE_KEY",
  decidedBy: 160,
  around: 40,
  anyOf: ["Key=", 'Key"', "key=", "KEY", "sig=", "Q~"],
  tokens: [
    {
      pattern:
        /(?<=(?:Account|SharedAccess)Key["']?\s{0,2}[=:]\s{0,2}["']?)[A-Za-z0-9+/]{43}(?:=|[A-Za-z0-9+/]{43}==)(?![A-Za-z0-9+/=])/i
    },
    {
      pattern:
        /(?<=(?:AZURE|STORAGE|COSMOS)[A-Z_]{0,20}KEY["']?\s{0,2}[=:]\s{0,2}["']?)[A-Za-z0-9+/]{43}(?:=|[A-Za-z0-9+/]{43}==)(?![A-Za-z0-9+/=])/
    },
    { pattern: /(?<=[?&;]sig=)(?:[A-Za-z0-9+/-]|%2[BFbf]|_){40,86}(?:%3[Dd]|=){1,2}(?![A-Za-z0-9%=])/ },
    { pattern: /(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{30,33}[A-Za-z0-9_~-](?![A-Za-z0-9_~-])/ }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const github: PiiEntity.PiiEntity = token({
  type: "GITHUB_TOKEN",
  decidedBy: 96,
  anyOf: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_])gh[pousr]_[A-Za-z0-9]{36}/, more: word },
    { pattern: /(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}/, more: word }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const gitlab: PiiEntity.PiiEntity = token({
  type: "GITLAB_TOKEN",
  decidedBy: 64,
  anyOf: ["gl", "GR1348941"],
  tokens: [
    {
      pattern: /(?<![A-Za-z0-9_-])gl(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|imt|agent|oas|wt|ffct)-[A-Za-z0-9_-]{20}/,
      more: /[A-Za-z0-9_-]|\.[A-Za-z0-9]{2,}/
    },
    { pattern: /(?<![A-Za-z0-9_-])GR1348941[A-Za-z0-9_-]{20}(?![A-Za-z0-9_-])/ }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const openai: PiiEntity.PiiEntity = token({
  type: "OPENAI_KEY",
  decidedBy: 96,
  anyOf: ["sk-"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_-])sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{32}/, more: url },
    { pattern: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}(?![A-Za-z0-9_-])/ },
    { pattern: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9]{48}(?![A-Za-z0-9_-])/, confidence: 0.9 }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const anthropic: PiiEntity.PiiEntity = token({
  type: "ANTHROPIC_KEY",
  decidedBy: 96,
  anyOf: ["sk-ant-"],
  tokens: [{ pattern: /(?<![A-Za-z0-9_-])sk-ant-(?:[a-z]{2,8}\d{2}-)?[A-Za-z0-9_-]{32}/, more: url }]
})

/**
 * Bot, user and app tokens, and incoming webhook URLs.
 *
 * @since 0.1.0
 * @category entities
 */
export const slack: PiiEntity.PiiEntity = token({
  type: "SLACK_TOKEN",
  decidedBy: 128,
  anyOf: ["xox", "xapp-", "hooks.slack.com"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_-])xox[abeoprs]-(?=[A-Za-z0-9-]{0,20}\d)[A-Za-z0-9-]{16}/, more: /[A-Za-z0-9-]/ },
    { pattern: /(?<![A-Za-z0-9_-])xoxe\.xox[bp]-\d-[A-Za-z0-9]{32}/, more: word },
    { pattern: /(?<![A-Za-z0-9_-])xapp-\d-[A-Z0-9]{9,13}-\d{9,15}-[a-f0-9]{32}/, more: word },
    {
      pattern:
        /https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Z][A-Z0-9]{7,12}\/[A-Z0-9]{8,14}\/[A-Za-z0-9]{16}/,
      more: /[A-Za-z0-9/]/
    }
  ]
})

/**
 * Secret keys, restricted keys and webhook secrets. Publishable keys are public and found only at `high`.
 *
 * @since 0.1.0
 * @category entities
 */
export const stripe: PiiEntity.PiiEntity = token({
  type: "STRIPE_KEY",
  decidedBy: 64,
  anyOf: ["k_live_", "k_test_", "whsec_"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_])[sr]k_(?:live|test)_[A-Za-z0-9]{20}/, more: word },
    { pattern: /(?<![A-Za-z0-9_])whsec_[A-Za-z0-9+/]{32}/, more: /[A-Za-z0-9+/=]/ },
    { pattern: /(?<![A-Za-z0-9_])pk_(?:live|test)_[A-Za-z0-9]{20}/, more: word, confidence: 0.4 }
  ]
})

/**
 * API keys, and account tokens beside their names; account ids are found only at `high`.
 *
 * @since 0.1.0
 * @category entities
 */
export const twilio: PiiEntity.PiiEntity = token({
  type: "TWILIO_KEY",
  decidedBy: 40,
  context: ["twilio*", "*twilio"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_])SK[0-9a-f]{32}(?![A-Za-z0-9_])/, confidence: 0.9 },
    { pattern: /(?<![A-Za-z0-9_])AC[0-9a-f]{32}(?![A-Za-z0-9_])/, confidence: 0.4, inContext: 0.5 },
    { pattern: /(?<![A-Za-z0-9_])[0-9a-f]{32}(?![A-Za-z0-9_])/, confidence: 0.1, inContext: 0.8 }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const sendgrid: PiiEntity.PiiEntity = token({
  type: "SENDGRID_KEY",
  decidedBy: 80,
  anyOf: ["SG."],
  tokens: [{ pattern: /(?<![A-Za-z0-9_.-])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/ }]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const npm: PiiEntity.PiiEntity = token({
  type: "NPM_TOKEN",
  decidedBy: 64,
  around: 24,
  anyOf: ["npm_", "_authToken"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])/ },
    { pattern: /(?<=_authToken\s{0,2}=\s{0,2}["']?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![A-Za-z0-9_-])/ }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const pypi: PiiEntity.PiiEntity = token({
  type: "PYPI_TOKEN",
  decidedBy: 96,
  anyOf: ["pypi-"],
  tokens: [{ pattern: /(?<![A-Za-z0-9_-])pypi-Ag(?:EIcHlwaS5vcmc|ENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50}/, more: url }]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const huggingFace: PiiEntity.PiiEntity = token({
  type: "HUGGINGFACE_TOKEN",
  decidedBy: 64,
  anyOf: ["hf_", "api_org_"],
  tokens: [
    { pattern: /(?<![A-Za-z0-9_])hf_(?=[A-Za-z0-9]{0,33}[A-Z])[A-Za-z0-9]{34}(?![A-Za-z0-9_])/ },
    { pattern: /(?<![A-Za-z0-9_])api_org_[A-Za-z0-9]{34}(?![A-Za-z0-9_])/ }
  ]
})

/** The first part of a bot token is the account id in base64. */
const isSnowflake = (value: string): boolean =>
  /^\d{17,20}$/.test(RandomText.decoded(value.slice(0, value.indexOf("."))) ?? "")

/**
 * Bot tokens and webhook URLs.
 *
 * @since 0.1.0
 * @category entities
 */
export const discord: PiiEntity.PiiEntity = token({
  type: "DISCORD_TOKEN",
  decidedBy: 160,
  tokens: [
    {
      pattern: /(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])/,
      validate: isSnowflake
    },
    {
      pattern:
        /https:\/\/(?:[a-z]{2,8}\.)?discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{17,20}\/[A-Za-z0-9_-]{60}/,
      more: url
    }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const telegram: PiiEntity.PiiEntity = token({
  type: "TELEGRAM_TOKEN",
  decidedBy: 48,
  anyOf: [":A"],
  tokens: [
    { pattern: /(?:(?<=\/bot)|(?<![A-Za-z0-9_:.-]))\d{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])/, confidence: 0.95 }
  ]
})

/**
 * @example
 * ```ts
 * import { PiiDetector, VendorEntities } from "effect-lexigram/guard"
 *
 * const keys = PiiDetector.make({ entities: VendorEntities.all, sensitivity: "high" })
 *
 * const hasKey = (text: string) => keys.find(text).length > 0
 * ```
 *
 * @since 0.1.0
 * @category entities
 */
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [
  aws,
  google,
  azure,
  github,
  gitlab,
  openai,
  anthropic,
  slack,
  stripe,
  twilio,
  sendgrid,
  npm,
  pypi,
  huggingFace,
  discord,
  telegram
]
