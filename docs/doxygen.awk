# Makes comments of headers what Doxygen reads: the one at the head of a file, and all of C's. What looks like a tag or a command is text.
FNR == 1 { head = 1; print "/// \\file" }
/^ *(\/\/|\/?\*)/ || /\/\* / { gsub(/\\/, "\\\\\\\\"); gsub(/<[a-z]/, "\\\\&") }
head && /^\/\// { print "/" $0; next }
head && /^\/\*/ { sub(/^\/\*/, "/**") }
head { head = 0 }
/^#define/ { print; next }
/^ *\/\* [^-]/ { sub(/\/\*/, "/**"); print; next }
/[;,}0-9] +\/\* / { sub(/\/\* /, "/**< ") }
{ print }
