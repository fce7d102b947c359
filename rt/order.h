/* rt/order.h - refuses big-endian targets: weights, constants and files are little-endian */
#ifndef RT_ORDER_H
#define RT_ORDER_H

/* tcc defines none of these macros; all its targets are little-endian. */
#if (defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) || defined __BIG_ENDIAN__ || \
	defined __ARM_BIG_ENDIAN
#error "Kiln's code is for little-endian processors: weights and constants would be read in the wrong byte order"
#endif

#endif
