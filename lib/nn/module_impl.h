/*
 * module_impl.h -- what a module holds. Not installed.
 */
#ifndef CFX_MODULE_IMPL_H
#define CFX_MODULE_IMPL_H

#include <cfx/module.h>

#include "base/util.h"

struct cfx_module {
    int refs;                   /* of the root; children belong to it */
    bool training;
    bool bound;                 /* attrs holds references */
    cfx_context *ctx;
    const cfx_module_type *type;
    const cfx_schema *schema;   /* of the constructor; NULL: a container */
    const cfx_schema *forward;
    cfx_bound attrs;            /* the constructor's arguments */
    char *class_name, *name;
    size_t class_name_size, name_size;
    cfx_module *parent;
    size_t index;               /* among the parent's children */
    cfx_module **child;
    size_t nchildren, child_cap;
    cfx_map children;           /* once there are many */
    cfx_state *state;
    size_t nstate, state_cap;
    struct cfx_graph *graph;    /* of a GraphModule */
    void (*free_graph)(struct cfx_graph *g);
};

/* The type of containers. */
extern const cfx_module_type cfx_module__Module;

/* For `init`: give a constructor's argument another value; takes it. */
void cfx_module__set_attr_take(cfx_module *m, const char *name, cfx_value v);

/* cfx_find_module_type, which tells why: CFX_ENAME or CFX_ENOMEM. */
cfx_status cfx_module_type__find(const cfx_module_type **out, cfx_context *ctx,
                                 const char *name, cfx_error *err);

/* Is it one of the library's own? */
bool cfx_module_type__is_builtin(const cfx_module_type *type);

/* Bind the arguments of a call as it is written, and run the forward in a
 * frame of its own. *out is a new reference. */
cfx_status cfx_module__forward(cfx_scope *s, cfx_module *m,
                               const cfx_spelling *c, cfx_value *out);

/* Schemas of a type, read once. */
cfx_status cfx_module_type__schemas(cfx_context *ctx,
                                    const cfx_module_type *type,
                                    const cfx_schema **constructor,
                                    const cfx_schema **forward,
                                    cfx_error *err);

#endif
