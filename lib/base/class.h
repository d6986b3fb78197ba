/*
 * class.h -- tables of hooks with a `super`. Not installed.
 *
 * A class is a constant struct that begins with its size, its name and a
 * pointer to its super. Hooks, which are pointers to functions, follow. A hook
 * that is NULL, or lies after the end of an older, smaller table, is
 * inherited.
 */
#ifndef CFX_BASE_CLASS_H
#define CFX_BASE_CLASS_H

#include <stddef.h>

/* The first class from cls upwards that sets the hook at this offset; the
 * topmost if none does. */
const void *cfx_class__with(const void *cls, size_t offset);

/* Copy each hook of cls, its own or inherited, from offset `first` to `size`
 * to the table `out`. Hooks that no class sets stay unchanged in `out`. */
void cfx_class__flatten(void *out, size_t first, size_t size, const void *cls);

#endif
