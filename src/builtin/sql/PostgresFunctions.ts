/**
 * Postgres functions and catalogs that a statement may use: they compute, and do not write, wait, run SQL from text, or
 * reveal the server's configuration.
 *
 * @private
 * @since 0.1.0
 */

const names = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

/**
 * @since 0.1.0
 * @category constants
 */
export const functions: ReadonlySet<string> = new Set([
  // Numbers
  ...names(`
  abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees div erf erfc exp
  factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod pi pow power radians random random_normal round scale sign sin sind sinh sqrt
  tan tand tanh trim_scale trunc width_bucket int2 int4 int8 float4 float8 numeric bit varbit bool money bit_count get_bit set_bit
  get_byte set_byte numeric_inc
`),
  // Texts and bytes
  ...names(`
  ascii bit_length btrim casefold char char_length character_length chr concat concat_ws convert_from convert_to crc32 crc32c decode encode
  format initcap left length lower lpad ltrim md5 normalize is_normalized octet_length overlay position quote_ident quote_literal
  quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table
  regexp_substr repeat replace reverse right rpad rtrim sha224 sha256 sha384 sha512 split_part starts_with string_to_array string_to_table
  strpos substr substring text to_ascii to_bin to_hex to_oct translate trim unistr upper bpchar varchar varying like notlike name
`),
  // Dates and times
  ...names(`
  age clock_timestamp date date_add date_bin date_part date_subtract date_trunc extract interval isfinite justify_days justify_hours
  justify_interval localtime localtimestamp make_date make_interval make_time make_timestamp make_timestamptz now overlaps
  statement_timestamp time timeofday timestamp timestamptz timetz timezone to_char to_date to_number to_timestamp transaction_timestamp
`),
  // Conditions and comparisons
  ...names("coalesce greatest least nullif num_nonnulls num_nulls grouping pg_typeof"),
  // Aggregates and windows
  ...names(`
  any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank every first_value
  json_agg json_agg_strict json_arrayagg json_object_agg json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict
  json_objectagg jsonb_agg jsonb_agg_strict jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict
  lag last_value lead max min mode nth_value ntile percent_rank percentile_cont percentile_disc range_agg range_intersect_agg rank regr_avgx
  regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number stddev stddev_pop stddev_samp string_agg sum
  var_pop var_samp variance
`),
  // Arrays, ranges and sets
  ...names(`
  array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions array_prepend array_remove
  array_replace array_reverse array_sample array_shuffle array_sort array_to_string array_upper cardinality generate_series
  generate_subscripts trim_array unnest daterange datemultirange int4range int4multirange int8range int8multirange isempty lower_inc lower_inf
  multirange nummultirange numrange range_merge tsmultirange tsrange tstzmultirange tstzrange upper_inc upper_inf
`),
  // JSON
  ...names(`
  array_to_json json json_array json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each
  json_each_text json_exists json_extract_path json_extract_path_text json_object json_object_keys json_populate_record
  json_populate_recordset json_query json_scalar json_serialize json_strip_nulls json_to_record json_to_recordset json_typeof json_value jsonb
  jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
  jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz
  jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first
  jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax
  jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json to_json to_jsonb
`),
  // Full text
  ...names(`
  array_to_tsvector get_current_ts_config json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery plainto_tsquery querytree setweight strip
  to_tsquery to_tsvector ts_delete ts_filter ts_headline ts_rank ts_rank_cd tsquery_phrase tsvector_to_array websearch_to_tsquery
`),
  // Identifiers, networks and shapes
  ...names(`
  gen_random_uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 abbrev broadcast cidr family host hostmask inet inet_merge
  inet_same_family macaddr macaddr8 macaddr8_set7bit masklen netmask network set_masklen area bound_box box center circle
  diagonal diameter height isclosed isopen line lseg npoints path pclose point polygon popen radius slope width
`)
])

/**
 * Allowed names that begin with `pg_` and are a table, view or schema: they describe the database's structure, not its
 * users or configuration.
 *
 * @since 0.1.0
 * @category constants
 */
export const catalogs: ReadonlySet<string> = new Set(
  names(`
  pg_catalog pg_attrdef pg_attribute pg_class pg_collation pg_constraint pg_description pg_enum pg_index pg_indexes pg_inherits pg_matviews
  pg_namespace pg_partitioned_table pg_range pg_tables pg_type pg_views
`)
)

/**
 * Keywords that act as calls without parentheses and reveal the user or the database.
 *
 * @since 0.1.0
 * @category constants
 */
export const telling: ReadonlySet<string> = new Set(
  names("current_catalog current_role current_schema current_user session_user system_user user")
)

/**
 * Views of `information_schema` that may contain passwords of other servers.
 *
 * @since 0.1.0
 * @category constants
 */
export const secrets: ReadonlySet<string> = new Set(
  names("foreign_data_wrapper_options foreign_server_options foreign_table_options user_mapping_options")
)

/**
 * Types that look text up in the catalogs.
 *
 * @since 0.1.0
 * @category constants
 */
export const lookups: ReadonlySet<string> = new Set(
  names(`
  regclass regcollation regconfig regdatabase regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype
`)
)
