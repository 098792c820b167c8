# list.awk
#	  Prints the first sentence of the comment at the head of each file, behind its name: ./check --list.
FNR == 1 {
	text = ""
	told = 0
	own = FILENAME
	sub(/.*\//, "", own)
}
told || /^#!/ { next }
{
	comment = /^[ \t]*(#|--|\/\*|\*|\/\/)/
	line = $0
	sub(/^[ \t]*(#+|--|\/\*+|\*+\/?|\/\/)[ \t]*/, "", line)
	if (comment && line != own && line != FILENAME && line != "")
		text = text (text == "" ? "" : " ") line
	end = match(text, /[.;]( |$)/)
	if (end || (text != "" && (!comment || line == ""))) {
		printf "%-38s %s\n", FILENAME, end ? substr(text, 1, end - 1) : text
		told = 1
	}
}
