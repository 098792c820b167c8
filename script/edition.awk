# script/edition.awk
#	  Makes parts of the edition in SQL what one DO block can have, and can run again: functions and views are replaced; and a statement with BEGIN ATOMIC,
#	  whose semicolons end statements of PL/pgSQL, goes by EXECUTE.
#
#	awk -f script/edition.awk PART...
/^CREATE (FUNCTION|PROCEDURE|VIEW) / {
	sub(/^CREATE /, "CREATE OR REPLACE ")
	head = ""
	is_head = 1
}
is_head && (/^BEGIN ATOMIC$/ || /^(RETURN|AS)/ || /;$/) {
	is_head = 0
	is_atomic = /^BEGIN/
	printf "%s%s", is_atomic ? "EXECUTE $sql$" : "", head
}
is_head {
	head = head $0 "\n"
	next
}
is_atomic && /^END;$/ {
	is_atomic = 0
	$0 = "END$sql$;"
}
{ print }
