--
-- What only scripts that update have, before they change anything.
--

-- What belongs to the extension is looked at at their end (ends.sql).  By an older snapshot a function that its owner adds meanwhile
-- would not be there, and yet be replaced.
DO $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'an extension of uidgen is updated in isolation level read committed only'
			USING ERRCODE = 'invalid_transaction_state', DETAIL = format('This transaction has %s.', current_setting('transaction_isolation')),
				HINT = 'Run ALTER EXTENSION ... UPDATE in a transaction of its own: BEGIN ISOLATION LEVEL READ COMMITTED.';
	END IF;
END
$$;
