# test/vectors.awk
#	  Brings the rows of test/vectors.tsv into sql/vectors.sql: make made.
BEGIN { FS = "\t" }
FILENAME ~ /\.tsv$/ {
	if (/^#/) next
	gsub(/'/, "''")
	rows = rows (rows == "" ? "" : ",\n") "\t('" $1 "', '" $2 "', '" $3 "', '" $4 "')"
	next
}
/^-- rows end/ { made = 0 }
!made { print }
/^-- rows begin/ { print rows; made = 1 }
