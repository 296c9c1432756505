/** The extensions of PostgreSQL that a service may ask for, by version: all have those that come with PostgreSQL, and one has more from Debian. */

/** What comes with PostgreSQL, except languages, which need interpreters that are not there. */
const contrib = `
  amcheck autoinc bloom btree_gin btree_gist citext cube dblink dict_int dict_xsyn earthdistance file_fdw fuzzystrmatch hstore insert_username intagg
  intarray isn lo ltree moddatetime pageinspect pg_buffercache pg_freespacemap pg_prewarm pg_stat_statements pg_surgery pg_trgm pg_visibility
  pg_walinspect pgcrypto pgrowlocks pgstattuple plpgsql postgres_fdw refint seg sslinfo tablefunc tcn tsm_system_rows tsm_system_time unaccent
  uuid-ossp xml2`
  .trim()
  .split(/\s+/);

const others: Readonly<Record<string, string>> = {
  '17': 'address_standardizer address_standardizer_data_us postgis postgis_raster postgis_sfcgal postgis_tiger_geocoder postgis_topology vector',
};

export const extensionsOf = (version: string): readonly string[] => [...contrib, ...(others[version]?.split(' ') ?? [])].toSorted();
