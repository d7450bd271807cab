/**
 * Ambient tenant and data classifications of work. They apply to everything started inside, governed or not.
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
 * Runs work for a tenant and with classifications. Nested work keeps its tenant unless it names another;
 * classifications only accumulate.
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
