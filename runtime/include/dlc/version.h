/* Which dlc this is. Plain C. The numbers are those of the whole project: compiler, tools and
 * library. */
#ifndef DLC_VERSION_H
#define DLC_VERSION_H

#define DLC_VERSION "0.1.0"

/* What libdlc.so shows; all else in it is hidden. GCC takes no attribute of the old kind behind one
 * of C++, as [[nodiscard]]. */
#ifdef __cplusplus
#define DLC_API [[gnu::visibility("default")]]
#else
#define DLC_API __attribute__((visibility("default")))
#endif

#endif
