/*
 * repr.h -- visible and hidden arguments in a module's line. Not installed.
 *
 * Reads the small languages of module types: `.repr` ("$in_channels stride
 * ?padding ?=padding_mode") and `.derive`, arguments that children imply
 * ("embed_dim=out_proj.in_features").
 */
#ifndef CFX_REPR_H
#define CFX_REPR_H

#include <cfx/module.h>

#include "base/util.h"

/* One argument that a repr shows. */
typedef struct cfx_shown {
    const char *name;
    size_t len;
    bool alone;      /* $x: the value without its name */
    bool if_changed; /* ?x: where it is not the default */
    bool bare;       /* =x: strings without quotes */
} cfx_shown;

/* Take the next off a repr (NULL: an empty one); false at its end. */
bool cfx_shown_next(const char **repr, cfx_shown *item);
/* Does a repr show that argument? */
bool cfx_shown_has(const char *repr, const char *name);

/* Is it the default? One number equals a list that repeats it. */
bool cfx_is_default(const cfx_param *p, cfx_value v);

/* An argument implied by a child: `param=child.attr`. */
typedef struct cfx_derived {
    const char *param, *child, *attr;
    size_t param_len, child_len, attr_len;
} cfx_derived;

/* Read the next item of a `.derive` (may be NULL); false at its end. */
bool cfx_derived_next(const char **derived, cfx_derived *item);

#endif
