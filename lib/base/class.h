/*
 * class.h -- tables of hooks with a `super`. Not installed.
 *
 * A class is a constant struct that begins with its size, its name and a
 * pointer to its super. Hooks, which are pointers to functions, follow. A hook
 * that is NULL, or lies behind the end of an older, smaller table, is
 * inherited.
 */
#ifndef CFX_BASE_CLASS_H
#define CFX_BASE_CLASS_H

#include <stddef.h>

/* The nearest class, from cls upwards, whose hook at that offset is set; the
 * topmost if there is none. */
const void *cfx_class__with(const void *cls, size_t offset);

/* Copy each hook that cls has, its own or inherited, into the table `out`:
 * those from offset `first` to the table's end at `size`. Hooks that it has not
 * stay as they are. */
void cfx_class__flatten(void *out, size_t first, size_t size, const void *cls);

#endif
