CREATE FUNCTION uidgen_tools.take_out() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen.drop_functions('uidgen_tools');
	DROP TABLE uidgen_tools.in_use;
	DROP SCHEMA uidgen_tools;
END
$$;
COMMENT ON FUNCTION uidgen_tools.take_out() IS 'takes the tools out of the database';

PERFORM uidgen.take_back_grants('uidgen_tools');
GRANT USAGE ON SCHEMA uidgen_tools TO PUBLIC;
GRANT SELECT ON uidgen_tools.in_use TO PUBLIC;
PERFORM uidgen.hand_out_functions('uidgen_tools');
ALTER DEFAULT PRIVILEGES IN SCHEMA uidgen_tools REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
PERFORM set_config('client_min_messages', caller_messages, true), set_config('standard_conforming_strings', caller_strings, true), set_config('quote_all_identifiers', caller_quotes, true), set_config('plpgsql.extra_errors', caller_extras, true), set_config('search_path', caller_path, true);
END
$uidgen$;
