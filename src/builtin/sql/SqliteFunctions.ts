/**
 * SQLite functions and table-valued functions that a statement may use: they compute, and reach nothing outside the
 * database.
 *
 * @private
 * @since 0.1.0
 */

const names = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

/**
 * Scalar, aggregate and window functions of SQLite, of the extensions that come with the drivers, and of `libsql`.
 *
 * @since 0.1.0
 * @category constants
 */
export const functions: ReadonlySet<string> = new Set(
  names(`
  abs acos acosh asin asinh atan atan2 atanh atn2 avg bm25 ceil ceiling changes char charindex coalesce concat concat_ws cos cosh cot coth
  count cume_dist current_date current_time current_timestamp date datetime degrees dense_rank difference exp first_value floor format
  geopoly_area geopoly_bbox geopoly_blob geopoly_ccw geopoly_contains_point geopoly_group_bbox geopoly_json geopoly_overlap geopoly_regular
  geopoly_svg geopoly_within geopoly_xform glob group_concat hex highlight if ifnull iif instr json json_array json_array_insert
  json_array_length json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch json_pretty
  json_quote json_remove json_replace json_set json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array
  jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday lag last_value lead leftstr length
  like likelihood likely ln log log10 log2 lower lower_quartile ltrim match matchinfo max median min mod mode nth_value ntile nullif
  octet_length offsets padc padl padr percent_rank percentile percentile_cont percentile_disc pi pow power printf proper quote radians random
  randomblob rank regexp regexpi replace replicate reverse rightstr round row_number rtrim sha3 sign sin sinh snippet soundex sqlite_version
  sqrt square stdev strfilter strftime string_agg substr substring subtype sum tan tanh time timediff total trim trunc typeof unhex unicode
  unistr unistr_quote unixepoch unlikely upper upper_quartile uuid uuid_blob uuid_str variance vector vector16 vector1bit vector32 vector64
  vector8 vector_distance_cos vector_distance_l2 vector_extract vectorb16 zeroblob
`)
)

/**
 * Virtual tables that exist without `CREATE`, and modules of those that an application created.
 *
 * @since 0.1.0
 * @category constants
 */
export const modules: ReadonlySet<string> = new Set(
  names(`
  fts3 fts4 fts5 fts4aux fts5vocab generate_series geopoly json_each json_tree jsonb_each jsonb_tree pragma_foreign_key_list pragma_index_info
  pragma_index_list pragma_index_xinfo pragma_table_info pragma_table_list pragma_table_xinfo rtree rtree_i32 vector_top_k
`)
)
