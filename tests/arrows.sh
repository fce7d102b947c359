#!/bin/sh
# A folder may include files of itself and of the folders to its left.
order="rt ir frontend opt codegen"
left='' bad=0
for d in $order; do
	left="$left $d"
	for h in $(sed -n 's|^#include "\(\.\./\)*\([a-z]*\)/.*|\2|p' "$d"/*.[ch] "$d"/*/*.[ch] 2>/dev/null | sort -u); do
		case " $order " in *" $h "*) ;; *) continue ;; esac
		case " $left " in *" $h "*) ;; *) echo "$d includes $h"; bad=1 ;; esac
	done
done
# A header that calls functions of string.h includes it, or short.h, which declares them for libtcc, too. Newer compilers refuse
# calls of undeclared functions, older ones only warn, and Kiln compiles programs without warnings.
for h in rt/*.h rt/ops/v*.h rt/ops/t*.h rt/ops/short.h; do
	grep -qE '(^|[^_[:alnum:]])mem(cpy|set|move|cmp)\(' "$h" || continue
	grep -qE '^#include (<string.h>|"(short|vint8|vint8_block).h")' "$h" || { echo "$h does not include string.h"; bad=1; }
done
exit $bad
