# script/update.awk
#	  Makes the part of a script that updates the extension from OLD, out of a part of the script that
#	  creates it.
#
# Usage: awk -v old=OLD -f script/update.awk PART...
#
# Functions, procedures and views are replaced, whether they have changed or not, so that none keeps
# what an older script was bound to.  Other statements are left out: OLD has made what they make, and an administrator may have changed it.  But one
# below the mark "-- [since VERSION]" makes what an older version does not have: it replaces nothing, since what
# is there of that name is somebody else's, and would stay his.  One below "-- [always]" checks something.
function number(version,    part)
{
	split(version, part, ".")
	return (part[1] * 1000 + part[2]) * 1000 + part[3]
}

/^-- \[since / {
	leave_out = number(substr($3, 1, length($3) - 1)) <= number(old)
	waits = 1
	next
}
/^-- \[always\]$/ {
	waits = 2
	next
}
/^\\echo / { sub(/CREATE EXTENSION [a-z_]+/, "& UPDATE"); sub(/CREATE/, "ALTER") }

# The statement that follows a mark, or makes what can be made only once, and its end.
/^[A-Z]/ && !within && (waits || /^(ALTER|CREATE (INDEX|OR REPLACE TRIGGER|SCHEMA|SEQUENCE|TABLE|TYPE|UNIQUE)|DO|GRANT|REVOKE)( |$)/) {
	leave_out = waits ? waits == 1 && leave_out : 1
	waits = 0
	within = 1
	body = /\$\$$/
}
{
	if (!(within && leave_out)) {
		if (!within && $0 ~ /^\t*CREATE (FUNCTION|PROCEDURE|VIEW) /)
			sub(/CREATE /, "CREATE OR REPLACE ")
		print
	}
}
within && (body ? /^\$\$;/ : /;([ \t]*--.*)?$/) { within = 0 }
