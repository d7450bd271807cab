/**
 * The version of this package.
 *
 * @since 0.1.0
 */

/**
 * Equals `version` in package.json.
 *
 * @since 0.1.0
 * @category constants
 */
export const version = "0.0.0"

/**
 * The address of the documentation. None until the package is published.
 *
 * @since 0.1.0
 * @category constants
 */
export const documentation: string | undefined = undefined
