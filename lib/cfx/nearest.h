/*
 * cfx/nearest.h -- "did you mean": the known word nearest to an unknown one.
 *
 *     cfx_nearest near;
 *     cfx_nearest_init(&near, word, strlen(word));
 *     for (size_t i = 0; i < nnames; i++)
 *         cfx_nearest_try(&near, name[i], strlen(name[i]));
 *     printf("there is no '%s'%s\n", word, cfx_nearest_text(&near));
 *
 * A word is near if at most a third of its letters are wrong, missing, swapped
 * or added, or if both are dotted and end in the same name. None of the
 * functions fails.
 */
#ifndef CFX_NEAREST_H
#define CFX_NEAREST_H

#include <stddef.h>

#include <cfx/compiler.h>

typedef struct cfx_nearest {
    const char *word; /* borrowed */
    size_t len, distance;
    char best[64], text[96];
} cfx_nearest;

CFX_BEGIN_DECLS

CFX_API void cfx_nearest_init(cfx_nearest *n, const char *word, size_t len);
CFX_API void cfx_nearest_try(cfx_nearest *n, const char *candidate,
                             size_t len);
/* "; did you mean 'BEST'?", or "" if none is near. Borrowed from n. */
CFX_API const char *cfx_nearest_text(cfx_nearest *n);

CFX_END_DECLS

#endif
