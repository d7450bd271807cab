/**
 * For which tenant work is done and how its data are classified: it holds for everything that is started inside,
 * governed or not.
 *
 * @private
 * @since 0.1.0
 */
import * as Ambient from "../../internal/fiber/Ambient.js"

export interface Service {
  readonly tenantId: string | undefined
  readonly classifications: ReadonlyArray<string>
}

const nobody: Service = { tenantId: undefined, classifications: [] }

export class Attribution extends Ambient.Reference<Attribution>()("effect-lexigram/governance/Attribution", {
  defaultValue: (): Service => nobody
}) {}

/**
 * Work inside of other work stays its tenant's unless it is said to be for another one; its data are at least what they
 * were outside.
 */
export const inside = (
  outer: Service,
  own: { readonly tenantId?: string | undefined; readonly classifications?: ReadonlyArray<string> | undefined }
): Service => {
  const { classifications = [], tenantId = outer.tenantId } = own
  if (classifications.length === 0) {
    return tenantId === outer.tenantId ? outer : { tenantId, classifications: outer.classifications }
  }
  return {
    tenantId,
    classifications:
      outer.classifications.length === 0
        ? classifications
        : Array.from(new Set([...outer.classifications, ...classifications]))
  }
}
