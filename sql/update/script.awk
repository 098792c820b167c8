# sql/update/script.awk
#	  Makes the script that updates an extension from OLD to the present version, out of
#	  sql/uidgen.sql and sql/update/from-OLD.sql.
#
# Usage: awk -v old=OLD -v changes=FILE -f sql/update/script.awk sql/uidgen.sql
#
# Functions and views are replaced, whether they have changed or not, so that none keeps
# what an older script was bound to.  A statement below the mark "-- [since VERSION]" is
# left out if OLD is as late.  What FILE has before its mark "-- [after]" comes where the mark
# "-- [changes before]" is: when the library was found to be new enough.  The rest comes at
# the end.
function number(version,    part)
{
	split(version, part, ".")
	return (part[1] * 1000 + part[2]) * 1000 + part[3]
}

BEGIN {
	while ((got = (getline line <changes)) > 0) {
		if (line ~ /^-- \[after\]$/)
			in_after = 1
		else if (in_after)
			after = after line "\n"
		else
			before = before line "\n"
	}
	if (got < 0) {
		print "cannot read " changes >"/dev/stderr"
		exit failed = 1
	}
}

/^-- \[since / {
	leave_out = number(substr($3, 1, length($3) - 1)) <= number(old)
	waits = 1
	next
}
/^-- \[changes before\]$/ { printf "%s", before; next }
/^\\echo / { $0 = "\\echo Use \"ALTER EXTENSION uidgen UPDATE\" to load this file. \\quit" }

# The statement that follows a mark, and its end.
waits && /^[A-Z]/ { waits = 0; within = 1; body = /\$\$$/ }
{
	if (!(within && leave_out)) {
		if ($0 ~ /^\t*CREATE (FUNCTION|VIEW) /)
			sub(/CREATE /, "CREATE OR REPLACE ")
		print
	}
}
within && (body ? /^\$\$;/ : /;([ \t]*--.*)?$/) { within = 0 }

END {
	if (!failed)
		printf "%s", after
}
