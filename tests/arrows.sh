#!/bin/sh
# Every folder may include itself and the folders to its left.
order="rt ir frontend opt codegen"
left='' bad=0
for d in $order; do
	left="$left $d"
	for h in $(sed -n 's|^#include "\(\.\./\)*\([a-z]*\)/.*|\2|p' "$d"/*.[ch] "$d"/*/*.[ch] 2>/dev/null | sort -u); do
		case " $order " in *" $h "*) ;; *) continue ;; esac
		case " $left " in *" $h "*) ;; *) echo "$d includes $h"; bad=1 ;; esac
	done
done
exit $bad
