PERFORM uidgen.take_back_grants('uidgen_tools');
GRANT USAGE ON SCHEMA uidgen_tools TO PUBLIC;
PERFORM uidgen.hand_out_functions('uidgen_tools');
PERFORM set_config('client_min_messages', caller_messages, true), set_config('standard_conforming_strings', caller_strings, true), set_config('search_path', caller_path, true);
END
$uidgen$;
