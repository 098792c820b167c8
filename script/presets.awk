# script/presets.awk
#	  In place of the line -- [presets] the rows of src/core/layout.c: name, layout and note of each preset.
#
#	awk -f script/presets.awk src/core/layout.h src/core/layout.c PART...
FILENAME ~ /layout\.[hc]$/ {
	line = $0
	gsub(/'/, "''", line)
	n = split(line, text, "\"")
	if (/^#define UIDGEN_LAYOUT_DEFAULT "/) default_layout = text[2]
	if (/^\t\{"/) row = "\t\t('" text[2] "', '" (n > 4 ? text[4] : default_layout) "', "
	else if (row != "" && /^\t+".*"\},?$/) {
		rows = rows (rows == "" ? "" : ",\n") row "'" text[2] "')"
		row = ""
	}
	next
}
/^-- \[presets\]$/ { print rows; next }
{ print }
